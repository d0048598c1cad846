"""Products of float32 in parts of bfloat16, against float64."""

import os

import pytest
import torch

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from additive_cases import close, hostile, poisoned  # noqa: F401 (the last is a fixture for every test here)

from regard.kernels import additive_triton, product_triton
from regard.kernels.product_triton import parts, product, suits, taken_apart

place = "cuda" if torch.cuda.is_available() else "cpu"
eps = 2.0**-24
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of overflow


def test_three_parts_are_the_number() -> None:
    x = torch.randn(3, 1000, device=place) * torch.logspace(-25, 25, 1000, device=place)
    x[0, :4] = torch.tensor([0.0, 1.0, -(2.0**-20), 1 + 2.0**-23])
    found = taken_apart(x)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found.double().sum(0), x.double())


@pytest.mark.parametrize(
    ("rows", "sums", "cols", "stride"),
    sweep_but([(70, 150, 131, 256), (1, 33, 5, 33), (64, 128, 128, 128)], (1, 33, 5, 33)),
)
def test_product(rows: int, sums: int, cols: int, stride: int) -> None:
    """All the digits of float32: a product left out, or a part of a number, would cost 8 bits and more."""
    a = torch.full((2, rows, stride), float("nan"), device=place)  # what lies beyond the sums is not read
    a[:, :, :sums] = torch.softmax(5 * torch.randn(2, rows, sums, device=place), -1)
    v = torch.randn(2, sums, cols, device=place)
    exact = a[:, :, :sums].double() @ v.double()
    sizes = a[:, :, :sums].double() @ v.double().abs()
    found = product(a, v, taken_apart(v))
    off = (found.double() - exact).abs() / sizes
    assert off.max() <= 12 * eps  # the interpreter cuts parts off instead of rounding them; a GPU has 2
    assert off.square().mean().sqrt() <= 3 * eps
    assert torch.equal(product(a, v, None), torch.bmm(a[:, :, :sums], v))


def test_a_nan_stays_in_its_rows_and_columns() -> None:
    a, v = torch.rand(1, 5, 7, device=place), torch.rand(1, 7, 6, device=place)
    a[0, 2, 3] = v[0, 4, 1] = float("nan")
    found = product(a, v, taken_apart(v))
    assert torch.equal(found.isnan(), torch.bmm(a, v).isnan())


def test_where_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    v = torch.randn(2, 8, 4)
    assert not suits(torch.device("cpu"))
    monkeypatch.setattr(product_triton, "suits", lambda device: True)
    assert parts(v, 16) is None  # too little
    monkeypatch.setattr(product_triton, "LEAST", 2 * 8 * 4 * 16)
    assert parts(v, 16) is not None
    assert parts(v, 15) is None
    assert parts(v.bfloat16(), 16) is None
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")  # digits are not wanted: PyTorch's product is quicker
        assert parts(v, 16) is None
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.sweep
def test_additive_attention_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries go in two pieces, and the values are taken apart once."""
    calls = []
    monkeypatch.setattr(additive_triton, "parts", lambda v, rows: calls.append(rows) or taken_apart(v))
    monkeypatch.setattr(additive_triton, "TILES", additive_triton.Tiles(short=()))
    monkeypatch.setattr("regard.kernels.additive_cpu.CHUNK", 500)
    case = hostile("plain", queries=130, keys=7, width=3, batch=1)
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))
    assert calls == [130]
