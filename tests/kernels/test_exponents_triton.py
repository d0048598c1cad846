"""e^{2x} as the kernels want it: by pairs of features, or row by row, with the largest sizes."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from regard.kernels.exponents_triton import WIDE, Exponents, exponents, powers

place = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def largest(found: Exponents) -> list[torch.Tensor]:
    """Of each batch row, for queries and for keys; compared as bits, as the kernels do."""
    sides = found.sizes.split([len(found.x) * parts for parts in found.parts])
    return [side.view(len(found.x), -1).amax(1).view(torch.float32) for side in sides]


@pytest.mark.parametrize(("time", "width"), [(1, 1), (5, 7), (40, 70)])
def test_by_pairs_of_features(time: int, width: int) -> None:
    q, k = torch.randn(2, time, width, device=place), torch.randn(2, time + 3, width, device=place)
    words = exponents(q, k)
    y = words.y
    assert y.shape == (2, -(-width // 8) * 4, WIDE)
    pairs = y.view(torch.float32).reshape(2, -1, WIDE, 2).transpose(2, 3).flatten(1, 2)  # [batch, feature, time]
    torch.testing.assert_close(pairs[:, :width, : time + 3], (2 * k).exp().transpose(1, 2), rtol=1e-6, atol=0)
    assert pairs.isfinite().all()
    for side, tensor in zip(largest(words), (q, k), strict=True):
        assert torch.equal(side, tensor.abs().amax((1, 2)))


@pytest.mark.parametrize(("time", "width"), [(1, 1), (5, 7), (40, 140)])
def test_row_by_row(time: int, width: int) -> None:
    x = torch.randn(2, time, width, device=place)
    x[1, -1, -1] = -9.0
    found = powers(x)
    assert found.rows.shape == (2, time, -(-width // WIDE) * WIDE)
    assert found.rows.isfinite().all()
    torch.testing.assert_close(found.rows[:, :, :width], (2 * x).exp(), rtol=1e-6, atol=0)
    sizes = found.sizes.view(2, found.parts).amax(1).view(torch.float32)
    assert torch.equal(sizes, x.abs().amax((1, 2)))


def test_a_nan_is_the_largest() -> None:
    q = torch.zeros(3, 4, 5, device=place)
    q[0, 1, 2], q[1, 3, 4] = float("nan"), float("inf")
    sizes = largest(exponents(q, q))
    assert sizes[0][0].isnan()
    assert sizes[0][1] == float("inf")
    assert sizes[0][2] == 0
    sizes = powers(q).sizes.view(3, -1).amax(1).view(torch.float32)
    assert sizes[0].isnan()
    assert sizes[1:].tolist() == [float("inf"), 0]
