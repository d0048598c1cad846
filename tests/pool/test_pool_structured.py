"""Structured: several rows of attention, and the price of looking twice at the same."""

from math import atanh, log

import pytest
import torch

from regard.errors import RegardError
from regard.pool.structured import Structured, overlap
from regard.types import Memory


def by_hand(penalty: float) -> Structured:
    """Two rows over tanh(h): the first indifferent, the second with score log 3 where tanh(h) is 1/2."""
    part = Structured(inputs=1, hops=2, hidden=1, penalty=penalty).double()
    with torch.no_grad():
        part.attention.score.W.weight.fill_(1.0)
        part.attention.score.w.copy_(torch.tensor([[[0.0], [2 * log(3)]]]))
    return part


def test_by_hand() -> None:
    """A = [[1/2, 1/2], [1/4, 3/4]], so A Aᵀ − I = [[−1/2, 1/2], [1/2, −3/8]], whose squares sum to 57/64."""
    h = atanh(0.5)
    values = torch.tensor([[[0.0], [h], [9.0]]]).double()
    memory = Memory(values, values, torch.tensor([[True, True, False]]))
    pooled = by_hand(0.3)(memory)
    assert pooled.look is not None
    assert pooled.look.weights[0].flatten().tolist() == pytest.approx([0.5, 0.5, 0.0, 0.25, 0.75, 0.0])
    assert pooled.vector.flatten().tolist() == pytest.approx([h / 2, 3 * h / 4])
    assert pooled.penalty is not None
    assert pooled.penalty.tolist() == pytest.approx([0.3 * 57 / 64])
    assert by_hand(0.0)(memory).penalty is None


def test_the_price_of_rows() -> None:
    """0 where each row has a token of its own; all on one token costs r² − r; spread evenly over two, 1."""
    apart, together, even = torch.eye(3)[None], torch.eye(3)[:1].expand(1, 3, 3), torch.full((1, 2, 2), 0.5)
    assert [overlap(A).item() for A in [apart, together, even]] == [0.0, 6.0, 1.0]


def test_the_vector_is_row_after_row() -> None:
    part, values = Structured(inputs=4, hops=3, hidden=5), torch.randn(2, 6, 4)
    pooled = part(Memory(values, values))
    assert (part.size, part.rows) == (12, 3)
    assert pooled.look is not None
    torch.testing.assert_close(pooled.vector[:, 4:8], (pooled.look.weights[:, 1:2] @ values).squeeze(1))


def test_paying_moves_the_rows_apart() -> None:
    part, values = Structured(inputs=4, hops=2, hidden=8, penalty=1.0), torch.randn(1, 5, 4)
    optimiser = torch.optim.SGD(part.parameters(), lr=0.5)
    prices = []
    for _ in range(60):
        penalty = part(Memory(values, values)).penalty
        assert penalty is not None
        optimiser.zero_grad()
        penalty.sum().backward()
        optimiser.step()
        prices.append(penalty.item())
    assert prices[-1] < prices[0] / 2


def test_the_price_is_exact_under_autocast() -> None:
    """1/3 + 1/3 + 1/3 is not 1 in half precision."""
    A = torch.full((1, 2, 3), 1 / 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = overlap(A)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(2 * (2 / 3) ** 2 + 2 * (1 / 3) ** 2, abs=1e-6)


@pytest.mark.parametrize(
    ("option", "said"),
    [({"hops": 0}, "hops: got 0; expected a whole number from 1"), ({"penalty": -1.0}, "penalty: got -1")],
)
def test_a_wrong_option_is_explained(option: dict[str, float], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        Structured(inputs=4, **option)  # type: ignore[arg-type]
