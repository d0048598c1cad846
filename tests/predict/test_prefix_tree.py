"""All answers of a set at once: the tree itself, and that every decoder scores it as it scores each answer alone."""

import pytest
import torch

from prefix_cases import ANSWERS, END, START, alone, decoder, memory
from regard import find
from regard.errors import RegardError
from regard.predict.prefix_tree import PrefixTree


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
