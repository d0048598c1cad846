"""The prefix decoder scores a tree in pieces, and level by level where its attention remembers."""

import pytest
import torch

from prefix_cases import ANSWERS, END, START, alone, decoder, memory
from regard.predict.prefix_tree import PrefixTree
from regard.types import Memory


@torch.no_grad()
def test_attention_that_remembers_is_read_level_by_level() -> None:
    part, source = decoder("prefix", bias=("location",)), memory()
    tree = PrefixTree.of(ANSWERS, START, END)
    found = tree.totals(part.tree_log_probs(source, tree, part.read_tree(tree)))
    expected = torch.stack([alone(part, source, answer) for answer in ANSWERS], 1)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)


@torch.no_grad()
def test_in_single_precision_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.predict.generate.prefix.TOGETHER", 3)
    part, source = decoder("prefix").float(), memory()
    source = Memory(source.keys.float(), source.values.float(), source.mask, source.summary.float())  # type: ignore[union-attr]
    tree = PrefixTree.of(ANSWERS, START, END)
    read = part.read_tree(tree)
    assert len(read) == 3
    found = tree.totals(part.tree_log_probs(source, tree, read))
    expected = torch.stack([alone(part, source, answer) for answer in ANSWERS], 1)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
