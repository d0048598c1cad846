"""What every recommender promises, and the losses that they share."""

from math import log
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.find import build, names
from regard.networks.recommend import Recommender, Taught, joined, recent, unseen
from regard.types import Batch, Sequences

pytestmark = pytest.mark.usefixtures("one_thread")
every = pytest.mark.parametrize("name", names("networks.recommend"))
ITEMS = 9
ROWS = [[4, 5, 9, 12], [7, 8], [6]]


def network(name: str, **options: Any) -> Recommender:
    torch.manual_seed(3)
    words = Words(vocab=FIRST + ITEMS, found=0, dim=4, init_std=1.0)
    made: Recommender = build("networks.recommend", {"name": name, **options}, embed=words)
    return made.double().eval()


def all_items(rows: int) -> Tensor:
    return torch.arange(FIRST, FIRST + ITEMS).expand(rows, -1)


@every
def test_the_scores_of_all_items_are_those_of_each(name: str) -> None:
    one, histories = network(name), Sequences.pad(ROWS)
    with torch.no_grad():
        state = one.state(histories)
        whole = one.scores(state, 0, ITEMS)
        assert_close(whole, one.direct(histories, all_items(3)))
        assert_close(torch.cat([one.scores(state, 0, 4), one.scores(state, 4, ITEMS)], 1), whole)
        for row, history in enumerate(ROWS):  # alone, without padding
            assert_close(one.direct(Sequences.pad([history]), all_items(1))[0], whole[row])


@every
def test_an_empty_history_has_finite_scores(name: str) -> None:
    one, histories = network(name), Sequences.pad([[], [4, 5]])
    with torch.no_grad():
        found = one.scores(one.state(histories), 0, ITEMS)
        assert found.isfinite().all()
        assert_close(found, one.direct(histories, all_items(2)))


@every
def test_only_the_most_recent_items_are_read(name: str) -> None:
    one = network(name, max_length=2)
    recently = Sequences.pad([[9, 12], [7, 8], [6]])
    with torch.no_grad():
        assert_close(one.direct(Sequences.pad(ROWS), all_items(3)), one.direct(recently, all_items(3)))
    assert one.looked(Sequences.pad(ROWS), all_items(3)).weights.shape[-1] == 2


@every
def test_where_it_looks(name: str) -> None:
    weights = network(name).looked(Sequences.pad(ROWS), all_items(3)).weights
    assert (weights.shape[0], weights.shape[-1]) == (3, 4)
    assert not weights[1, ..., 2:].any()
    assert not weights[2, ..., 1:].any()
    assert (weights[0] > 0).all()


@every
def test_gradients(name: str) -> None:
    """Of each loss, with the same negatives at each call."""
    for loss in network(name).losses:
        one = network(name, loss=loss, negatives=2, **({"dropout": 0.0} if name == "sasrec" else {})).train()
        batch = Batch((Sequences.pad(ROWS),), torch.tensor([10, 4, 5]))

        def total(*_: Tensor, one: Recommender = one, batch: Batch = batch) -> Tensor:
            torch.manual_seed(5)
            return one(batch).total

        slopes = torch.autograd.grad(total(), list(one.parameters()), allow_unused=True)
        used = [p for p, slope in zip(one.parameters(), slopes, strict=True) if slope is not None]
        assert gradcheck(total, used, fast_mode=True)


class Fixed(Recommender):
    """One positive with a score of ln 3, and the scores of what it is compared with."""

    def __init__(self, loss: Any) -> None:
        super().__init__()
        self.embed, self.loss, self.negatives, self.max_length = Words(FIRST + ITEMS, 0, 2), loss, 2, 10

    def taught(self, whole: Sequences, negatives: Tensor | None) -> Taught:
        positive = torch.tensor([log(3)])
        if negatives is None:
            return Taught(every=torch.tensor([[log(3), 0.0, log(2)]]), target=torch.tensor([0]))
        return Taught(positive, torch.tensor([[0.0, log(2)]]))

    state: Any = None
    scores: Any = None
    direct: Any = None
    looked: Any = None


@pytest.mark.parametrize(
    ("loss", "expected"),
    [("binary", -log(3 / 4) - log(1 / 2) - log(1 / 3)), ("sampled_softmax", -log(3 / 6)), ("softmax", -log(3 / 6))],
)
def test_a_loss_by_hand(loss: str, expected: float) -> None:
    """σ(ln 3) = ¾, σ(−0) = ½, σ(−ln 2) = ⅓;  3 / (3 + 1 + 2) = ½."""
    one = Fixed(loss).train()
    found = one(Batch((Sequences.pad([[4]]),), torch.tensor([5])))
    assert (found.total.item(), found.count) == (pytest.approx(expected), 1)
    chance = one.chance(torch.tensor(log(3)), torch.tensor(log(6))).exp()
    assert chance.item() == pytest.approx(0.75 if loss == "binary" else 0.5)


def test_joined_and_recent() -> None:
    whole = joined(Sequences.pad([[4, 5, 6], [7], []]), torch.tensor([8, 9, 1]))
    assert whole.values.tolist() == [[4, 5, 6, 8], [7, 9, 0, 0], [0, 0, 0, 0]]
    assert whole.lengths.tolist() == whole.mask.sum(-1).tolist() == [4, 2, 0]
    last = recent(whole, 2)
    assert last.values.tolist() == [[6, 8], [7, 9], [0, 0]]
    assert last.mask.tolist() == [[True, True], [True, True], [False, False]]
    assert last.lengths.tolist() == [2, 2, 0]


def test_negatives_are_uniform_over_what_was_not_had() -> None:
    """4,000 draws a user: each of k items comes 4,000 / k times, give or take five standard deviations."""
    rows = [[4, 4, 12], [5, 9, 7, 6, 8], [], [4, 5, 6, 7, 8, 9, 10, 11]]
    found = unseen(Sequences.pad(rows), (4, 5, 800), ITEMS)
    for row, drawn in zip(rows, found.flatten(1), strict=True):
        items, counts = drawn.unique(return_counts=True)
        assert items.tolist() == [one for one in range(FIRST, FIRST + ITEMS) if one not in row]
        chance = 1 / len(items)
        assert (counts - 4_000 * chance).abs().max() <= 5 * (4_000 * chance * (1 - chance)) ** 0.5


def test_negatives_of_long_histories_are_cut_with_them() -> None:
    """The negatives of an item stay with it, where the older items are not read."""
    batch = Batch((Sequences.pad([[4, 5, 6, 7]]),), torch.tensor([8]))
    assert network("nais", max_length=2, negatives=1).train()(batch).count == 3
    assert network("sasrec", max_length=2, loss="binary").train()(batch).count == 2
