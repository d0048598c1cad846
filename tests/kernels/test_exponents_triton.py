"""e^{2x} as the kernels want it: by pairs of features, or row by row, with the largest sizes."""

import os

import pytest
import torch

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from regard.kernels.exponents_triton import FOLDED, WIDE, Exponents, exponents, powers_plan

place = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def largest(found: Exponents, batch: int) -> list[torch.Tensor]:
    """Of each batch row, for each side; compared as bits, as the kernels do."""
    counts = [batch * sizes for sizes in found.plan.sizes]
    sides = parts(found)[-1][: sum(counts)].split(counts)
    return [side.view(batch, -1).amax(1).view(torch.float32) for side in sides]


def parts(found: Exponents) -> list[torch.Tensor]:
    return [part for part in found.plan.launch.apart(found.data) if part is not None]


@pytest.mark.parametrize(("time", "width"), sweep_but([(1, 1), (5, 7), (40, 70)], (5, 7)))
def test_by_pairs_of_features(time: int, width: int) -> None:
    q, k = torch.randn(2, time, width, device=place), torch.randn(2, time + 3, width, device=place)
    w = torch.linspace(-1.0, 1.0, width + 1, device=place)[1:] + 1e-3
    found = exponents(q, k, w)
    x, y, table, _ = parts(found)
    scale = w.abs().max() * 2.0**-15  # e^{2q} times scale/w
    words = 2 * -(-width // 8) * 4 * WIDE
    for side, tensor, c in ((x, q, scale / w), (y, k, torch.ones_like(w))):
        pairs = side[:words].view(torch.float32).reshape(2, -1, WIDE, 2).transpose(2, 3).flatten(1, 2)
        here = pairs[:, :width, : tensor.shape[1]]  # [batch, feature, time]
        torch.testing.assert_close(here, ((2 * tensor).exp() * c).transpose(1, 2), rtol=1e-6, atol=0)
        assert pairs.isfinite().all()
    for side, tensor in zip(largest(found, 2), (q, k), strict=True):
        assert torch.equal(side, tensor.abs().amax((1, 2)))
    groups = -(-width // 8)
    rows = table[: groups * FOLDED.value].view(groups, FOLDED.value)
    torch.testing.assert_close(rows[:, :8].flatten()[:width], scale / w, rtol=1e-6, atol=0)
    assert (rows[:, :8].flatten()[width:] == 2).all()  # beyond the width: 1/4 less half of 1/2
    assert (rows[:, 8:16] == 1).all()
    torch.testing.assert_close(rows[:, 16], (0.5 / rows[:, :8]).sum(1))
    assert (rows[:, 17] == scale).all()


def test_weights_that_cannot_be_folded_stay_apart() -> None:
    q, w = torch.randn(1, 4, 9, device=place), torch.arange(9.0, device=place)
    x, _, table, _ = parts(exponents(q, q, w))
    rows = table[: 2 * FOLDED.value].view(2, FOLDED.value)
    assert rows[:, :8].tolist() == [[1.0] * 8] * 2
    assert rows[:, 8:16].flatten().tolist() == [*range(9), *[0.0] * 7]
    assert rows[:, 16:18].tolist() == [[14.0, 0.0], [4.0, 0.0]]
    pair = x[:4].view(torch.float32).view(4, 2)
    torch.testing.assert_close(pair, (2 * q[0, :, :2]).exp(), rtol=1e-6, atol=0)


def powers(q: torch.Tensor, k: torch.Tensor, sides: str = "qk", first: int = 0) -> list[torch.Tensor]:
    """Of each side e^{2x} (of queries e^{-2x} too) and the largest |x|, for the sides asked for."""
    (batch, q_time, width), k_time = q.shape, k.shape[1]
    plan = powers_plan(batch, q_time if "q" in sides else 0, k_time if "k" in sides else 0, width, first)
    data = torch.full((plan.numbers,), float("nan"), device=place)
    plan.launch(data, q, k)
    assert data[:first].isnan().all()
    x, x_sizes, y, y_sizes = parts(Exponents(data, plan))
    (stride,), found = plan.strides, []
    for side, rows, sizes, time, turns, each in (
        ("q", x, x_sizes, q_time, 2, plan.sizes[0]), ("k", y, y_sizes, k_time, 1, plan.sizes[1])
    ):  # fmt: skip
        if side in sides:
            found.append(rows[: batch * time * turns * stride].view(batch, time, turns, stride))
            found.append(sizes[: batch * each].view(batch, -1).amax(1).view(torch.float32))
    return found


@pytest.mark.parametrize(("time", "width"), sweep_but([(1, 1), (5, 7), (40, 140)], (5, 7)))
def test_row_by_row(time: int, width: int) -> None:
    q, k = torch.randn(3, time, width, device=place), torch.randn(3, time + 30, width, device=place)
    q[1, -1, -1] = k[2, -1, 0] = -9.0
    x, x_sizes, y, y_sizes = powers(q, k, first=12)
    assert x.isfinite().all()
    assert y.isfinite().all()
    torch.testing.assert_close(x[:, :, 0, :width], (2 * q).exp(), rtol=1e-6, atol=0)
    torch.testing.assert_close(x[:, :, 1, :width], (-2 * q).exp(), rtol=1e-6, atol=0)
    torch.testing.assert_close(y[:, :, 0, :width], (2 * k).exp(), rtol=1e-6, atol=0)
    assert torch.equal(x_sizes, q.abs().amax((1, 2)))
    assert torch.equal(y_sizes, k.abs().amax((1, 2)))
    one_at_a_time = [*powers(q, k, "q"), *powers(q, k, "k")]
    for both, one in zip((x, x_sizes, y, y_sizes), one_at_a_time, strict=True):
        assert torch.equal(both, one)


def test_a_nan_is_the_largest() -> None:
    q = torch.zeros(3, 4, 5, device=place)
    q[0, 1, 2], q[1, 3, 4] = float("nan"), float("inf")
    sizes = largest(exponents(q, q, torch.ones(5, device=place)), 3)
    assert sizes[0][0].isnan()
    assert sizes[0][1] == float("inf")
    assert sizes[0][2] == 0
    for side in powers(q, q)[1::2]:
        assert side[0].isnan()
        assert side[1:].tolist() == [float("inf"), 0]
