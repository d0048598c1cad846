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


def largest(found: Exponents, batch: int) -> list[torch.Tensor]:
    """Of each batch row, for each side; compared as bits, as the kernels do."""
    counts = [batch * sizes for sizes in found.plan.sizes]
    sides = parts(found)[-1][: sum(counts)].split(counts)
    return [side.view(batch, -1).amax(1).view(torch.float32) for side in sides]


def parts(found: Exponents) -> list[torch.Tensor]:
    return [part for part in found.plan.launch.apart(found.data) if part is not None]


@pytest.mark.parametrize(("time", "width"), [(1, 1), (5, 7), (40, 70)])
def test_by_pairs_of_features(time: int, width: int) -> None:
    q, k = torch.randn(2, time, width, device=place), torch.randn(2, time + 3, width, device=place)
    found = exponents(q, k)
    words = 2 * -(-width // 8) * 4 * WIDE
    for side, tensor in zip(parts(found)[:2], (q, k), strict=True):
        pairs = side[:words].view(torch.float32).reshape(2, -1, WIDE, 2).transpose(2, 3).flatten(1, 2)
        here = pairs[:, :width, : tensor.shape[1]]  # [batch, feature, time]
        torch.testing.assert_close(here, (2 * tensor).exp().transpose(1, 2), rtol=1e-6, atol=0)
        assert pairs.isfinite().all()
    for side, tensor in zip(largest(found, 2), (q, k), strict=True):
        assert torch.equal(side, tensor.abs().amax((1, 2)))


@pytest.mark.parametrize(("time", "width"), [(1, 1), (5, 7), (40, 140)])
def test_row_by_row(time: int, width: int) -> None:
    x = torch.randn(2, time, width, device=place)
    x[1, -1, -1] = -9.0
    found = powers(x)
    stride = -(-width // WIDE) * WIDE
    rows = parts(found)[0][: 2 * time * stride].view(2, time, stride)
    assert rows.isfinite().all()
    torch.testing.assert_close(rows[:, :, :width], (2 * x).exp(), rtol=1e-6, atol=0)
    assert torch.equal(largest(found, 2)[0], x.abs().amax((1, 2)))


def test_a_nan_is_the_largest() -> None:
    q = torch.zeros(3, 4, 5, device=place)
    q[0, 1, 2], q[1, 3, 4] = float("nan"), float("inf")
    sizes = largest(exponents(q, q), 3)
    assert sizes[0][0].isnan()
    assert sizes[0][1] == float("inf")
    assert sizes[0][2] == 0
    (side,) = largest(powers(q), 3)
    assert side[0].isnan()
    assert side[1:].tolist() == [float("inf"), 0]
