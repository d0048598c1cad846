"""Masks, each written out whole: 1 = may be looked at."""

import pytest
import torch
from torch import Tensor

from regard.attend.mask import band, causal, direction, padding


def drawn(mask: Tensor) -> list[str]:
    assert mask.dtype == torch.bool
    return ["".join("1" if seen else "." for seen in row) for row in mask.tolist()]


def test_padding_keeps_the_keys_that_are_there() -> None:
    assert drawn(padding(torch.tensor([3, 0, 4, 1]), 4)) == ["111.", "....", "1111", "1..."]


def test_causal_sees_itself_and_earlier_ones() -> None:
    assert drawn(causal(4, 4)) == ["1...", "11..", "111.", "1111"]


@pytest.mark.parametrize(("queries", "rows"), [(1, ["1111"]), (2, ["111.", "1111"]), (3, ["11..", "111.", "1111"])])
def test_causal_with_fewer_queries_takes_the_last_ones(queries: int, rows: list[str]) -> None:
    assert drawn(causal(queries, 4)) == rows
    assert torch.equal(causal(queries, 4), causal(4, 4)[-queries:])


def test_causal_with_more_queries_than_keys_hides_everything_from_the_first() -> None:
    assert drawn(causal(4, 2)) == ["..", "..", "1.", "11"]


def test_directions() -> None:
    assert drawn(direction(4, "forward")) == ["....", "1...", "11..", "111."]
    assert drawn(direction(4, "backward")) == [".111", "..11", "...1", "...."]
    assert drawn(direction(4, "not_self")) == [".111", "1.11", "11.1", "111."]


def test_forward_and_backward_together_are_all_but_oneself() -> None:
    assert torch.equal(direction(5, "forward") | direction(5, "backward"), direction(5, "not_self"))
    assert not (direction(5, "forward") & direction(5, "backward")).any()
    assert torch.equal(direction(5, "forward"), direction(5, "backward").T)


def test_band_counts_from_the_same_first_position() -> None:
    assert drawn(band(3, 5, 1)) == ["11...", "111..", ".111."]
    assert drawn(band(4, 3, 1)) == ["11.", "111", ".11", "..1"]
    assert drawn(band(3, 3, 0)) == ["1..", ".1.", "..1"]


def test_masks_combine() -> None:
    assert drawn(causal(4, 4) & band(4, 4, 1)) == ["1...", "11..", ".11.", "..11"]
    # A batch of padding masks beside one causal mask: [batch, 1, key] & [query, key].
    both = padding(torch.tensor([2, 3]), 3).unsqueeze(1) & causal(3, 3)
    assert drawn(both[0]) == ["1..", "11.", "11."]
    assert drawn(both[1]) == ["1..", "11.", "111"]
