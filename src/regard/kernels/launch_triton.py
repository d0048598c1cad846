"""Cheap launches of Triton kernels: a compiled kernel is called again without looking it up.

`kernel[grid](…)` looks at every argument of every call to find the compiled kernel, which takes its host longer than
many a kernel runs. Here a `Launch` holds everything but the tensors; a plan (see `_plan` in `additive_triton.py`) keeps
its launches by shape, type and options, so that a repeated call hands over its tensors and no more. To make a tensor
takes long as well, so several may lie in one (`parts`).

    launch = Launch(kernel, (64,), numbers=(batch, time), constants=(True, 32), warps=4)
    launch(q, k, None, out)              # tensors first, then numbers, then constants, as in the kernel's signature
    Launch(kernel, (64,), (), (), parts=((0, torch.int64), (800, torch.int32)))(both)    # 100 numbers, then others

A plan must be made anew where the type of a tensor, its being there at all, or the device changes.
"""

import os
from collections.abc import Callable, Hashable
from typing import Any

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

__all__ = ["Launch", "Parts", "blocks"]

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # nothing is compiled, and nothing can be kept

Parts = tuple[tuple[int, torch.dtype], ...]  # how many bytes from the beginning of a tensor (by 16), and of what type

_compiled: dict[Hashable, Any] = {}


def blocks(size: int, each: int) -> int:
    """How many blocks of `each` cover `size`."""
    return -(-size // each)


def hooked() -> bool:
    """Whether anybody (a profiler) wants to hear of launches; each hook is a chain of functions, a function or None."""
    enter, leave = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
    return bool(getattr(enter, "calls", enter) or getattr(leave, "calls", leave))


def runner(found: Any, grid: tuple[int, ...], rest: tuple[Any, ...], device: int) -> Callable[[list[int | None]], None]:
    """`found[grid]` for addresses instead of tensors, which Triton need not look up, and without words for hooks."""
    run, function, packed = found.run, found.function, found.packed_metadata
    # The latter is torch.cuda.current_device, which would first look whether CUDA has begun.
    stream_of, current = triton.runtime.driver.active.get_current_stream, torch._C._cuda_getDevice

    def launch(addresses: list[int | None]) -> None:
        if current() != device:
            with torch.cuda.device(device):
                launch(addresses)
        elif hooked():
            found[grid](*addresses, *rest)
        else:
            run(*grid, stream_of(device), function, packed, None, None, None, *addresses, *rest)

    return launch


class Launch:
    """One kernel, ready for tensors. The one at `split` is handed over as its `parts` where there are any."""

    def __init__(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        numbers: tuple[int | float, ...],
        constants: tuple[Any, ...],
        warps: int = 4,
        parts: Parts = (),
        split: int = 0,
        registers: int | None = None,
    ) -> None:
        self.kernel, self.grid, self.parts, self.split = kernel, (*grid, 1, 1)[:3], parts, split
        self.warps, self.registers = warps, registers  # the latter: a thread's at most, so that more warps find room
        self.rest = (*numbers, *constants)
        # What Triton may build a kernel of its own for: a number that is 1, that divides by 16, that needs 64 bits.
        each = tuple((n == 1, n % 16 == 0, abs(n) < 2**31) if isinstance(n, int) else None for n in numbers)
        self.kind = (id(kernel), each, constants, warps, registers)
        self.run: Callable[[list[int | None]], None] | None = None
        self.device: int | None = None  # until it is compiled

    def __call__(self, *tensors: Tensor | None) -> None:
        device = self.device
        addresses: list[Any] = []
        for tensor in tensors:
            if tensor is None:
                addresses.append(None)
                continue
            at = tensor.data_ptr()
            # A compiled kernel relies on addresses that divide by 16, which a slice of a tensor may not have. What
            # lies elsewhere is Triton's to refuse.
            if at & 15 or tensor.get_device() != device:
                self._slowly(tensors)
                return
            addresses.append(at)
        if self.parts:
            at = self.split
            addresses[at : at + 1] = [addresses[at] + offset for offset, _ in self.parts]
        self.run(addresses)  # type: ignore[misc]  # there since the device is

    def apart(self, *tensors: Tensor | None) -> tuple[Tensor | None, ...]:
        """What the kernel is given: views where there are parts."""
        if not self.parts or (whole := tensors[self.split]) is None:
            return tensors
        apart = [whole.view(torch.uint8)[at:].view(kind) for at, kind in self.parts]
        return (*tensors[: self.split], *apart, *tensors[self.split + 1 :])

    def options(self) -> dict[str, Any]:
        """What Triton's compiler is told."""
        # A product and a sum as one instruction: some kernels are exact because of it.
        told = {"num_warps": self.warps, "enable_fp_fusion": True}
        return told if self.registers is None or torch.version.hip else told | {"maxnreg": self.registers}

    def _plainly(self, tensors: tuple[Tensor | None, ...]) -> Any:
        where = next(tensor for tensor in tensors if tensor is not None)
        with torch.cuda.device_of(where):  # type: ignore[no-untyped-call]
            return self.kernel[self.grid](*tensors, *self.rest, **self.options())

    def _slowly(self, tensors: tuple[Tensor | None, ...]) -> None:
        """The first time, and what a compiled kernel cannot take."""
        given = self.apart(*tensors)
        there = [tensor for tensor in given if tensor is not None]
        if INTERPRETED or self.run is not None or any(tensor.data_ptr() & 15 for tensor in there):
            self._plainly(given)
            return
        device = there[0].get_device()
        key = (self.kind, tuple(None if tensor is None else tensor.dtype for tensor in given), device)
        known = key in _compiled
        found = _compiled[key] if known else self._plainly(given)
        _compiled[key], self.run, self.device = found, runner(found, self.grid, self.rest, device), device
        if known:
            self(*tensors)
