"""Ranking: against sorting everything, block by block, with ties."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.networks import ranking
from regard.networks.ranking import ranked
from regard.networks.recommend import Recommender
from regard.types import Sequences

ITEMS = 23


class Table(Recommender):
    """The scores are given: a row for each first item of a history."""

    taught: Any = None
    looked: Any = None

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.embed, self.loss, self.table = Words(FIRST + table.shape[1], 0, 2), "softmax", table

    def state(self, history: Sequences) -> Any:
        return history.values[:, 0] - FIRST

    def scores(self, state: Any, first: int, last: int) -> Tensor:
        return self.table[state, first:last].clone()

    def direct(self, history: Sequences, items: Tensor) -> Tensor:
        return self.table[self.state(history)].gather(1, items - FIRST)


@pytest.mark.parametrize(("block", "users"), [(2**23, 2**13), (16, 2), (1, 3)])
def test_as_by_sorting(monkeypatch: pytest.MonkeyPatch, block: int, users: int) -> None:
    """Whole numbers from 0 to 4 as scores, so that there are many ties."""
    monkeypatch.setattr(ranking, "BLOCK", block)
    monkeypatch.setattr(ranking, "USERS", users)
    table = torch.randint(5, (8, ITEMS)).float()
    rows = [[FIRST + user, *range(FIRST + 8, FIRST + 8 + user)] for user in range(8)]
    targets = [FIRST + 20] * 7 + [1]  # the last user's cannot be recommended
    found = ranked(Table(table), rows, rows, targets, top=4)
    for user, row in enumerate(rows):
        scores = {one: table[user, one - FIRST].item() for one in range(FIRST, FIRST + ITEMS) if one not in row}
        best = sorted(scores.values(), reverse=True)[:4]
        assert found.scores[user].tolist() == best
        assert [scores[one] for one in found.items[user].tolist()] == best
        assert len(set(found.items[user].tolist())) == 4
        torch.testing.assert_close(found.total[user], torch.tensor(list(scores.values())).logsumexp(0))
        counts = found.above[user].item(), found.equal[user].item(), found.others[user].item()
        if targets[user] < FIRST:
            assert counts == (len(scores), 0, len(scores))
            assert found.target[user].isnan()
        else:
            goal, others = scores[targets[user]], len(scores) - 1
            assert counts == (
                sum(one > goal for one in scores.values()),
                sum(one == goal for one in scores.values()) - 1,
                others,
            )
            assert found.target[user] == goal


def test_a_target_that_was_seen_cannot_be_recommended() -> None:
    found = ranked(Table(torch.randn(1, 5)), [[4]], [[4, 6]], [6])
    assert (found.above.item(), found.equal.item(), found.others.item()) == (3, 0, 3)


def test_fewer_candidates_than_asked_for() -> None:
    found = ranked(Table(torch.randn(1, 5)), [[4]], [[4, 6, 7]], top=10)
    assert found.items.shape == (1, 5)
    assert found.scores.isfinite().sum() == 2


def test_scores_that_differ_by_rounding_are_equal() -> None:
    table = torch.tensor([[0.0, 100.0, 100.0001, 99.9, 100.1]])
    found = ranked(Table(table), [[4]], [[]], [5])
    assert (found.above.item(), found.equal.item()) == (1, 1)
