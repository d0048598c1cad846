"""All answers of a set at once: the tree itself, and that every decoder scores it as it scores each answer alone."""

from functools import partial
from typing import Any

import pytest
import torch

from regard import find
from regard.attend.attention import make
from regard.errors import RegardError
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


def test_a_prefix_is_one_node() -> None:
    tree = PrefixTree.of(ANSWERS, START, END)
    # root; 5, 7; 5 6, 7 6, 7 10; 5 6 8, 7 6 6
    assert tree.levels == ((0, 1), (1, 3), (3, 6), (6, 8))
    assert tree.token.tolist() == [START, 5, 7, 6, 6, 10, 8, 6]
    assert tree.parent.tolist() == [0, 0, 0, 1, 2, 2, 3, 4]
    assert tree.source.tolist() == sorted(tree.source.tolist())
    assert len(tree.source) == len(tree) - 1 + len(ANSWERS)


def test_totals_by_hand() -> None:
    tree = PrefixTree.of([[5, END], [5, 6, END]], START, END)
    edges = {(0, 5): -1.0, (1, END): -0.5, (1, 6): -2.0, (2, END): -0.25}
    given = torch.tensor([[edges[pair] for pair in zip(tree.source.tolist(), tree.word.tolist(), strict=True)]])
    assert tree.totals(given).tolist() == [[-1.5, -3.25]]


@pytest.mark.parametrize("answers", [[], [[5]], [[5, END, END]], [[5, END], [5, END]]])
def test_what_is_no_set_of_answers(answers: list[list[int]]) -> None:
    with pytest.raises(RegardError):
        PrefixTree.of(answers, START, END)


@pytest.mark.parametrize("name", find.names("predict.generate"))
@torch.no_grad()
def test_every_answer_has_the_score_it_has_alone(name: str) -> None:
    part, source = decoder(name), memory()
    tree = PrefixTree.of(ANSWERS, START, END)
    found = tree.totals(part.tree_log_probs(source, tree, part.read_tree(tree)))
    expected = torch.stack([alone(part, source, answer) for answer in ANSWERS], 1)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
