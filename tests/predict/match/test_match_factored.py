"""Factored: row by row, each with matrices of its own."""

import pytest
import torch

from regard.errors import RegardError
from regard.predict.match.factored import Factored


def test_by_hand() -> None:
    """Two rows of one number: (1 · 2)(3 · 5) = 30 and (2 · 3)(−1 · 7) = −42."""
    part = Factored(inputs=2, rows=2, hidden=1)
    with torch.no_grad():
        part.W_fp.copy_(torch.tensor([[[2.0]], [[3.0]]]))
        part.W_fh.copy_(torch.tensor([[[5.0]], [[7.0]]]))
    assert part(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -1.0]])).tolist() == [[30.0, -42.0]]
    assert part.size == 2


def test_it_is_the_published_equation() -> None:
    part, u, v = Factored(inputs=6, rows=3, hidden=4), torch.randn(2, 6), torch.randn(2, 6)
    found = part(u, v)
    assert part.size == 12
    for b in range(2):
        for r in range(3):
            M_p, M_h = u[b, 2 * r : 2 * r + 2], v[b, 2 * r : 2 * r + 2]
            torch.testing.assert_close(found[b, 4 * r : 4 * r + 4], (M_p @ part.W_fp[r]) * (M_h @ part.W_fh[r]))


@pytest.mark.parametrize(
    ("inputs", "rows", "hidden", "said"),
    [(7, 2, 3, "a vector of 7 in 2 rows"), (6, 0, 3, "in 0 rows"), (6, 2, 0, "hidden: got 0; expected a whole number")],
)
def test_what_cannot_be_made_is_explained(inputs: int, rows: int, hidden: int, said: str) -> None:
    with pytest.raises(RegardError, match=said):
        Factored(inputs, rows, hidden)
