"""The prefix decoder scores a tree in pieces, and level by level where its attention remembers."""

from functools import partial
from typing import Any

import pytest
import torch

from regard import find
from regard.attend.attention import make
from regard.predict.generate import Decoder
from regard.predict.prefix_tree import PrefixTree
from regard.types import Memory

START, END, VOCAB, WIDTH = 2, 3, 11, 8
ANSWERS = [[5, 6, END], [5, END], [7, 6, 6, END], [5, 6, 8, END], [END], [7, 10, END]]
small = {"hidden": 8, "embed": 8, "size": 8, "layers": 2, "dropout": 0.0}


def decoder(name: str, **options: Any) -> Decoder:
    known = find.settable(find.find("predict.generate", name))
    spec = {"name": name, **{key: value for key, value in small.items() if key in known}}
    part = find.build(
        "predict.generate", spec, vocab=VOCAB, memory=WIDTH, summary=WIDTH, attention=partial(make, **options)
    )
    assert isinstance(part, Decoder)
    return part.double().eval()


def memory() -> Memory:
    torch.manual_seed(2)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    return Memory(
        torch.randn(2, 4, WIDTH).double(), torch.randn(2, 4, WIDTH).double(), mask, torch.randn(2, WIDTH).double()
    )


def alone(part: Decoder, source: Memory, answer: list[int]) -> torch.Tensor:
    before = torch.tensor([[START, *answer[:-1]]] * len(source.keys))
    log_probs = part.unroll(source, before)[1].log_softmax(-1)
    return log_probs[:, range(len(answer)), answer].sum(1)


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
