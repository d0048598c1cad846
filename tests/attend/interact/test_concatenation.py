"""Concatenation: each document right behind its question, and back again."""

import torch

from regard.attend.interact.concatenation import joined, parted
from regard.types import Memory, Sequences


def sequences(lengths: list[int], first: int) -> Sequences:
    rows = Sequences.pad([[first + 10 * row + n for n in range(length)] for row, length in enumerate(lengths)])
    return Sequences(rows.values.unsqueeze(-1).double(), rows.mask, rows.lengths)


def test_there_and_back() -> None:
    question, document = sequences([2, 1], 100), sequences([2, 3], 200)
    both = joined(question, document)
    shown = both.values[..., 0].masked_fill(~both.mask, -1).tolist()
    assert shown == [[100, 101, 200, 201, -1], [110, 210, 211, 212, -1]]
    assert both.lengths.tolist() == [4, 4]
    back = parted(Memory(both.values, both.values, both.mask), question, document)
    assert torch.equal(back.values, document.values.masked_fill(~document.mask.unsqueeze(-1), 0.0))
    assert back.mask is not None
    assert torch.equal(back.mask, document.mask)
