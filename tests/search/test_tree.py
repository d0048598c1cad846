"""The prefix tree by hand: edges, what is needed to an end, what may follow with so much room."""

import pytest
import torch

from regard.errors import RegardError
from regard.search._tree import NOWHERE, ROOT, WIDE, repeats, tree_of

END = 1
TREE = tree_of(((2, 3), (2, 4, 5), (6,), (2, 3, END)), END)  # one of them twice


def test_by_hand():
    """Nodes in the order they were met: 1 root, 2 "2", 3 "23", 4 "24", 5 "245", 6 "6"."""
    assert [divmod(edge, WIDE) for edge in TREE.edges.tolist()] == [
        *((1, 2), (1, 6), (2, 3), (2, 4)),
        *((3, END), (4, 5), (5, END), (6, END)),
    ]
    assert TREE.child.tolist() == [2, 6, 3, 4, NOWHERE, 5, NOWHERE, NOWHERE]
    assert TREE.first.tolist() == [0, 0, 2, 4, 5, 6, 7, 8]
    assert TREE.need.tolist() == [0, 2, 2, 1, 2, 1, 1]
    assert TREE.fans == (2, 2, 1, 1)
    assert TREE.largest == 6


@pytest.mark.parametrize(
    ("node", "token", "child"),
    [(ROOT, 2, 2), (ROOT, 6, 6), (2, 4, 4), (3, END, NOWHERE), (ROOT, 3, 0), (6, 9, 0), (NOWHERE, 0, 0), (6, 2**31, 0)],
)
def test_one_token_further(node, token, child):
    assert TREE.after(torch.tensor([[node]]), torch.tensor([[token]])).tolist() == [[child]]


@pytest.mark.parametrize(
    ("node", "depth", "room", "tokens"),
    [
        (ROOT, 0, 9, [2, 6]),
        (ROOT, 0, 2, [2, 6]),
        (ROOT, 0, 1, [6]),
        (ROOT, 0, 0, []),
        (2, 1, 2, [3, 4]),
        (2, 1, 1, [3]),
        (3, 2, 0, [END]),
        (NOWHERE, 2, 9, []),
        (NOWHERE, 7, 9, []),
    ],
)
def test_what_may_follow(node, depth, room, tokens):
    mask = TREE.open(torch.full((2, 3), node), depth, torch.tensor([room, 9]), 8)
    assert mask.shape == (2, 3, 8)
    assert mask[0, 1].nonzero().flatten().tolist() == tokens


def test_an_empty_answer_and_one_end_for_all():
    tree = tree_of(((), (END,)), END)
    assert tree.need.tolist() == [0, 1]
    assert tree.open(torch.tensor([[ROOT]]), 0, torch.tensor([0]), 3).tolist() == [[[False, True, False]]]


def test_other_limits_strike_answers():
    answers = ((2,), (2, 3), (2, 3, 2), (4, 5))
    assert tree_of(answers, END, min_length=2).need.tolist()[ROOT] == 3
    struck = tree_of(answers, END, banned=(4,), min_length=2, no_repeat_ngram=1)  # leaves (2, 3)
    assert struck.edges.tolist() == tree_of(((2, 3),), END).edges.tolist()
    with pytest.raises(RegardError, match="none of 4 allowed answers"):
        tree_of(answers, END, banned=(END,))


@pytest.mark.parametrize(
    ("tokens", "n", "twice"),
    [((2, 2), 1, True), ((2, 2), 2, False), ((2, 2, 2), 2, True), ((2, 3, 2), 0, False), ((2, 3), 5, False)],
)
def test_repeats(tokens, n, twice):
    assert repeats(tokens, n) is twice


def test_the_same_answers_make_one_tree():
    assert tree_of(((2, 3), (7,)), END) is tree_of(((2, 3), (7,)), END)
