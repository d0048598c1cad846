"""All answers of a set at once: the tree itself, and that every decoder scores it as it scores each answer alone."""

from functools import partial
from typing import Any

import pytest
import torch

from regard import find
from regard.attend.attention import make
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.predict.grouped_softmax import GroupedSoftmax
from regard.predict.prefix_tree import PrefixTree
from regard.types import Memory

START, END, VOCAB, WIDTH = 2, 3, 11, 8
ANSWERS = [[5, 6, END], [5, END], [7, 6, 6, END], [5, 6, 8, END], [END], [7, 10, END]]
small = {"hidden": 8, "embed": 8, "size": 8, "layers": 2, "dropout": 0.0}


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
    return Memory(torch.randn(2, 4, WIDTH).double(), torch.randn(2, 4, WIDTH).double(), mask, torch.randn(2, WIDTH).double())


def alone(part: Decoder, source: Memory, answer: list[int]) -> torch.Tensor:
    before = torch.tensor([[START, *answer[:-1]]] * len(source.keys))
    log_probs = part.unroll(source, before)[1].log_softmax(-1)
    return log_probs[:, range(len(answer)), answer].sum(1)


@pytest.mark.parametrize("name", find.names("predict.generate"))
@torch.no_grad()
def test_every_answer_has_the_score_it_has_alone(name: str) -> None:
    part, source = decoder(name), memory()
    tree = PrefixTree.of(ANSWERS, START, END)
    found = tree.totals(part.tree_log_probs(source, tree, part.read_tree(tree)))
    expected = torch.stack([alone(part, source, answer) for answer in ANSWERS], 1)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)


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


@pytest.mark.parametrize("vocab", [5, 9, 11])
def test_a_grouped_softmax_is_a_distribution_and_its_words_cost_what_they_are(vocab: int) -> None:
    torch.manual_seed(1)
    out = GroupedSoftmax(vocab, 4).double()
    r = torch.randn(6, 4).double()
    every = out(r)
    assert every.shape == (6, vocab)
    torch.testing.assert_close(every.exp().sum(-1), torch.ones(6).double())
    rows, words = torch.tensor([0, 0, 1, 5, 5]), torch.tensor([vocab - 1, 0, 2, vocab - 1, 1])
    with torch.no_grad():
        torch.testing.assert_close(out.some(r, out.plan(rows, words)), every[rows, words])


def test_a_grouped_softmax_by_hand() -> None:
    """Four words in two groups: half for each group, and in the first group 3 : 1."""
    out = GroupedSoftmax(4, 1).double()
    for parameter in out.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        out.word.bias[0] = torch.tensor(3.0).log()
    torch.testing.assert_close(out(torch.ones(1, 1).double()).exp(), torch.tensor([[0.375, 0.125, 0.25, 0.25]]).double())
