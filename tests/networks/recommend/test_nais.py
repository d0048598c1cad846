"""NAIS: a number by hand, and each item of a history predicted from all the others."""

from math import e, sqrt
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.attend.score.gated_product import GatedProduct
from regard.errors import RegardError
from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.networks.recommend import nais
from regard.networks.recommend.nais import Nais
from regard.types import Sequences

pytestmark = pytest.mark.usefixtures("one_thread")


def network(**options: Any) -> Nais:
    torch.manual_seed(1)
    return Nais(Words(vocab=FIRST + 6, found=0, dim=2, init_std=1.0), **options).double().eval()


def test_a_number_by_hand() -> None:
    """p = (1, 2); q = (1, 0) and (0, 1). h = 1, W = (1, 0), b = 0: f is the ReLU of the first number of p ⊙ q, 1 and 0.
    The weights are e / √(e + 1) and 1 / √(e + 1); p · q = 1 and 2; with a bias of ¼ the score is
    (e + 2) / √(e + 1) + ¼."""
    one, root = network(hidden=1), sqrt(e + 1)
    score = one.attention.score
    assert isinstance(score, GatedProduct)
    assert one.b is not None
    with torch.no_grad():
        score.W.copy_(torch.tensor([[1.0, 0.0]]))
        score.b.zero_()
        one.p[7] = torch.tensor([1.0, 2.0])
        one.embed.learned[4], one.embed.learned[5] = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
        one.b[7] = 0.25
    history, item = Sequences.pad([[4, 5]]), torch.tensor([[7]])
    assert one.direct(history, item).item() == pytest.approx((e + 2) / root + 0.25)
    assert one.scores(one.state(history), 3, 4).item() == pytest.approx((e + 2) / root + 0.25)
    assert_close(one.looked(history, item).weights, torch.tensor([[[e / root, 1 / root]]], dtype=torch.float64))


def test_the_order_of_a_history_has_no_part() -> None:
    one, items = network(), torch.arange(FIRST, FIRST + 6)[None]
    assert_close(one.direct(Sequences.pad([[4, 6, 9]]), items), one.direct(Sequences.pad([[9, 4, 6]]), items))


def test_each_item_is_predicted_from_all_others() -> None:
    one, negatives = network(), torch.tensor([[[8, 9], [9, 8], [8, 8]]])
    taught = one.taught(Sequences.pad([[4, 6, 7]]), negatives)
    rest = Sequences.pad([[6, 7], [4, 7], [4, 6]])
    assert_close(taught.positive, one.direct(rest, torch.tensor([[4], [6], [7]])).squeeze(1))
    assert_close(taught.negative, one.direct(rest, negatives[0]))


def test_a_single_item_teaches_nothing() -> None:
    negatives = torch.full((2, 2, 1), 8)
    positive = network().taught(Sequences.pad([[4], [5, 6]]), negatives).positive
    assert positive is not None
    assert len(positive) == 2


def test_tables_in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is held at once."""
    one = network()
    with torch.no_grad():
        state = one.state(Sequences.pad([[4, 6, 9], [5]]))
        whole = one.scores(state, 0, 6)
        monkeypatch.setattr(nais, "NUMBERS", 8)
        assert_close(one.scores(state, 0, 6), whole)


def test_a_loss_over_all_items_is_refused() -> None:
    with pytest.raises(RegardError, match=r"network\.loss=softmax for nais; expected binary or sampled_softmax"):
        network(loss="softmax")
