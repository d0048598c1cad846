"""Triton's launches, made cheap: what was compiled once is called again without asking which kernel it was.

`kernel[grid](…)` looks at every argument of every call to find the compiled kernel, which takes its host longer than
many a kernel runs. Here a `Launch` holds everything but the tensors; a plan (see `plan` in `additive_triton.py`) keeps
its launches by shape, type and options, so that a repeated call hands over its tensors and no more.

    launch = Launch(kernel, (64,), numbers=(batch, time), constants=(True, 32), warps=4)
    launch(q, k, None, out)              # tensors first, then numbers, then constants, as in the kernel's signature

A plan must be made anew where the type of a tensor, its being there at all, or the device changes.
"""

import os
from collections.abc import Callable, Hashable
from typing import Any

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

__all__ = ["Launch", "blocks"]

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # nothing is compiled, and nothing can be kept

_compiled: dict[Hashable, Any] = {}


def blocks(size: int, each: int) -> int:
    """How many blocks of `each` cover `size`."""
    return -(-size // each)


def hooked() -> bool:
    """Whether anybody (a profiler) wants to hear of launches; each hook is a chain of functions, a function or None."""
    enter, leave = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
    return bool(getattr(enter, "calls", enter) or getattr(leave, "calls", leave))


def runner(found: Any, grid: tuple[int, ...], rest: tuple[Any, ...], device: int) -> Callable[..., None]:
    """`found[grid]` for addresses instead of tensors, which Triton need not look up, and without words for hooks."""
    run, function, packed = found.run, found.function, found.packed_metadata
    stream_of, current = triton.runtime.driver.active.get_current_stream, torch.cuda.current_device

    def launch(*addresses: int | None) -> None:
        if current() != device:
            with torch.cuda.device(device):
                launch(*addresses)
        elif hooked():
            found[grid](*addresses, *rest)
        else:
            run(*grid, stream_of(device), function, packed, None, None, None, *addresses, *rest)

    return launch


class Launch:
    """One kernel, ready for tensors."""

    def __init__(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        numbers: tuple[int | float, ...],
        constants: tuple[Any, ...],
        warps: int = 4,
    ) -> None:
        self.kernel, self.grid, self.warps = kernel, (*grid, 1, 1)[:3], warps
        self.rest = (*numbers, *constants)
        # What Triton may build a kernel of its own for: a number that is 1, that divides by 16, that needs 64 bits.
        each = tuple((n == 1, n % 16 == 0, abs(n) < 2**31) if isinstance(n, int) else None for n in numbers)
        self.kind = (id(kernel), each, constants, warps)
        self.run: Callable[..., None] | None = None
        self.device = -1

    def __call__(self, *tensors: Tensor | None) -> None:
        addresses: list[int | None] = []
        for tensor in tensors:
            at = None
            if tensor is not None:
                at = tensor.data_ptr()
                # A compiled kernel relies on addresses that divide by 16, which a slice of a tensor may not have. What
                # lies elsewhere is Triton's to refuse.
                if at & 15 or (tensor.get_device() != self.device and self.run is not None):
                    self._plainly(tensors)
                    return
            addresses.append(at)
        if self.run is None:
            self._compile(tensors)
        else:
            self.run(*addresses)

    def _plainly(self, tensors: tuple[Tensor | None, ...]) -> Any:
        # A product and a sum as one instruction: some kernels are exact because of it.
        where = next(tensor for tensor in tensors if tensor is not None)
        with torch.cuda.device_of(where):  # type: ignore[no-untyped-call]
            return self.kernel[self.grid](*tensors, *self.rest, num_warps=self.warps, enable_fp_fusion=True)

    def _compile(self, tensors: tuple[Tensor | None, ...]) -> None:
        if INTERPRETED:
            self._plainly(tensors)
            return
        self.device = next(tensor.get_device() for tensor in tensors if tensor is not None)
        types = tuple(None if tensor is None else tensor.dtype for tensor in tensors)
        found = _compiled.get((self.kind, types, self.device))
        if found is None:
            found = _compiled[self.kind, types, self.device] = self._plainly(tensors)
            self.run = runner(found, self.grid, self.rest, self.device)
            return
        self.run = runner(found, self.grid, self.rest, self.device)
        self(*tensors)
