"""A launch gives its kernel the tensors, numbers and constants it was made with, every time it is called."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, no_type_check

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

import triton
import triton.language as tl

from regard.kernels import launch_triton
from regard.kernels.launch_triton import Launch, blocks

place = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
@no_type_check
def scale_kernel(x, bias, out, n, factor, BIAS: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    y = tl.load(x + i, mask=i < n, other=0.0) * factor
    if BIAS:
        y += tl.load(bias + i, mask=i < n, other=0.0)
    tl.store(out + i, y, mask=i < n)


def test_again_and_again() -> None:
    launch = Launch(scale_kernel, (blocks(20, 16),), (20, 3.0), (False, 16))
    for _ in range(3):
        x, out = torch.randn(20, device=place), torch.empty(20, device=place)
        launch(x, None, out)
        assert torch.equal(out, 3 * x)
    other = Launch(scale_kernel, (blocks(5, 16),), (5, 2.0), (True, 16))
    x, out = torch.randn(5, device=place), torch.empty(5, device=place)
    other(x, x, out)
    torch.testing.assert_close(out, 3 * x)


def test_an_address_that_does_not_divide_by_16() -> None:
    launch = Launch(scale_kernel, (2,), (20, 3.0), (False, 16))
    x, out = torch.randn(21, device=place), torch.empty(20, device=place)
    launch(x[:20], None, out)
    launch(x[1:], None, out)
    assert torch.equal(out, 3 * x[1:])


def test_registers() -> None:
    """A kernel that does with fewer is another kernel."""
    some, few = (Launch(scale_kernel, (2,), (20, 3.0), (False, 16), registers=most) for most in (None, 64))
    assert "maxnreg" not in some.options()
    assert few.options() == some.options() | {"maxnreg": 64}
    assert few.kind != some.kind
    x, out = torch.randn(20, device=place), torch.empty(20, device=place)
    few(x, None, out)
    assert torch.equal(out, 3 * x)


class Compiled:
    """What Triton's compiled kernels offer, and what was asked of it."""

    function, packed_metadata = "function", "packed"

    def __init__(self) -> None:
        self.plain: list[Any] = []
        self.lean: list[Any] = []
        self.heard: list[Any] = []

    def run(self, *given: Any) -> None:
        self.lean.append(given)

    def __getitem__(self, grid: Any) -> Any:
        return lambda *given, **options: self.heard.append(given) if not options else self.plain.append(given) or self


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Triton and PyTorch as they are with a GPU whose tensors lie on the CPU: device -1, stream 70."""
    hooks = SimpleNamespace(launch_enter_hook=SimpleNamespace(calls=[]), launch_exit_hook=None)
    active = SimpleNamespace(get_current_stream=lambda device: 71 + device)
    runtime = SimpleNamespace(driver=SimpleNamespace(active=active))
    monkeypatch.setattr(launch_triton, "triton", SimpleNamespace(knobs=SimpleNamespace(runtime=hooks), runtime=runtime))
    monkeypatch.setattr(launch_triton, "INTERPRETED", False)
    monkeypatch.setattr(launch_triton, "_compiled", {})
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: -1, raising=False)
    return hooks


def test_a_compiled_kernel_is_handed_addresses(gpu: SimpleNamespace) -> None:
    kernel = Compiled()
    launch, x = Launch(kernel, (2,), (20, 3.0), (False, 16)), torch.zeros(20)
    launch(x, None, x)  # compiled by Triton itself, with the tensors
    assert len(kernel.plain) == 1
    launch(x, None, x)
    told = (x.data_ptr(), None, x.data_ptr(), 20, 3.0, False, 16)
    assert kernel.lean == [(2, 1, 1, 70, "function", "packed", None, None, None, *told)]
    Launch(kernel, (3,), (20, 3.0), (False, 16))(x, None, x)  # the same kernel on another grid is compiled already
    assert len(kernel.plain) == 1
    assert kernel.lean[1][:3] == (3, 1, 1)
    gpu.launch_enter_hook.calls.append(print)
    launch(x, None, x)
    gpu.launch_enter_hook.calls.clear()
    gpu.launch_exit_hook = print
    launch(x, None, x)
    assert kernel.heard == [told, told]
    assert len(kernel.lean) == 2


@pytest.mark.usefixtures("gpu")
def test_what_lies_elsewhere_is_triton_s_to_refuse() -> None:
    kernel = Compiled()
    launch, x = Launch(kernel, (2,), (20, 3.0), (False, 16)), torch.zeros(21)
    launch(x, None, x)
    launch(x, None, x[1:])
    launch.device = 0  # and x lies on the CPU
    launch(x, None, x)
    assert (len(kernel.plain), kernel.lean) == (3, [])


@pytest.mark.usefixtures("gpu")
def test_a_launch_on_another_device_than_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, now = Compiled(), [5]
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: now[0], raising=False)

    @contextmanager
    def device(index: int) -> Iterator[None]:
        before, now[0] = now[0], index
        yield
        now[0] = before

    monkeypatch.setattr(torch.cuda, "device", device)
    launch, x = Launch(kernel, (2,), (20, 3.0), (False, 16)), torch.zeros(20)
    launch(x, None, x)
    launch(x, None, x)
    assert [given[3] for given in kernel.lean] == [70]
    assert now == [5]


@triton.jit
@no_type_check
def both_kernel(x, n, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * tl.load(n + i))


PARTS = ((0, torch.float32), (64, torch.int32))


def test_one_tensor_as_its_parts() -> None:
    launch = Launch(both_kernel, (1,), (), (16,), parts=PARTS)
    both, out = torch.randn(32, device=place), torch.empty(16, device=place)
    both[16:] = torch.arange(16, dtype=torch.int32, device=place).view(torch.float32)
    for _ in range(3):
        launch(both, out)
        assert torch.equal(out, both[:16] * torch.arange(16, device=place))


def test_any_tensor_as_its_parts() -> None:
    both = torch.arange(32, dtype=torch.int32, device=place)
    x, out = torch.randn(16, device=place), torch.empty(16, device=place)
    launch = Launch(both_kernel, (1,), (), (16,), parts=((64, torch.int32),), split=1)
    for _ in range(3):
        launch(x, both, out)
        assert torch.equal(out, x * both[16:])


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("split", [1, 2])
def test_parts_of_a_later_tensor_are_addresses(split: int) -> None:
    kernel, x, y = Compiled(), torch.zeros(32), torch.zeros(4)
    launch = Launch(kernel, (2,), (20, 3.0), (False, 16), parts=PARTS, split=split)
    given = [y, y]
    given.insert(split, x)
    for _ in range(2):
        launch(*given)
    apart = [x.data_ptr(), x.data_ptr() + 64]
    expected = [y.data_ptr()] * split + apart + [y.data_ptr()] * (2 - split)
    assert [part.data_ptr() for part in kernel.plain[0][:4]] == expected
    assert list(kernel.lean[0][9:13]) == expected


@pytest.mark.usefixtures("gpu")
def test_parts_of_a_compiled_kernel_are_addresses() -> None:
    kernel = Compiled()
    launch, x = Launch(kernel, (2,), (20, 3.0), (False, 16), parts=PARTS), torch.zeros(32)
    launch(x, None)
    assert [(part.data_ptr() - x.data_ptr(), part.dtype) for part in kernel.plain[0][:2]] == list(PARTS)
    launch(x, None)
    assert kernel.lean[0][9:] == (x.data_ptr(), x.data_ptr() + 64, None, 20, 3.0, False, 16)
    other = Launch(kernel, (2,), (20, 3.0), (False, 16), parts=((0, torch.float32), (4, torch.int32)))
    for _ in range(2):
        other(x, None)  # no address for a compiled kernel
    assert (len(kernel.plain), len(kernel.lean)) == (3, 1)


def test_blocks() -> None:
    assert [blocks(size, 4) for size in (1, 4, 5)] == [1, 1, 2]


def test_kinds_of_numbers() -> None:
    """Triton builds a kernel of its own for 1, for what divides by 16, and for what needs 64 bits."""
    kinds = [Launch(scale_kernel, (2,), (n, 3.0), (False, 16)).kind for n in (1, 3, 16, 2**31 + 1, 5, 32)]
    assert len(set(kinds)) == 4
    assert kinds[4:] == [kinds[1], kinds[2]]
