"""SASRec: the last state times an item's vector; no item sees a later one."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.errors import RegardError
from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.networks.recommend.sasrec import Sasrec
from regard.types import Sequences

pytestmark = pytest.mark.usefixtures("one_thread")


def network(**options: Any) -> Sasrec:
    torch.manual_seed(1)
    return Sasrec(Words(vocab=FIRST + 8, found=0, dim=4, init_std=1.0), **options).double().eval()


def test_a_score_is_a_product_with_the_last_state() -> None:
    one, history = network(heads=2), Sequences.pad([[4, 7, 5], [6]])
    with torch.no_grad():
        states, item = one.encoder(one.embed(history)).values, one.embed.learned[9]
        expected = torch.stack([states[0, 2] @ item, states[1, 0] @ item])
        assert_close(one.direct(history, torch.tensor([[9], [9]])).squeeze(1), expected)


def test_each_item_is_predicted_from_those_before_it() -> None:
    """The scores at each place are those after the history up to there, whatever follows."""
    one = network()
    with torch.no_grad():
        taught = one.taught(Sequences.pad([[4, 7, 5, 11], [6, 9]]), None)
        assert taught.target is not None
        assert (taught.target + FIRST).tolist() == [7, 5, 11, 9]
        prefixes = Sequences.pad([[4], [4, 7], [4, 7, 5], [6]])
        assert_close(taught.every, one.scores(one.state(prefixes), 0, 8))


def test_layers_that_are_shown() -> None:
    one = network(layers=2, heads=2)
    history, item = Sequences.pad([[4, 7, 5]]), torch.tensor([[6]])
    last, first, every = (one.showing(which).looked(history, item).weights for which in ("2", "1", "all"))
    assert_close(one.looked(history, item).weights, last)
    assert_close(every, torch.cat([first, last], 1))
    assert one.showing("all").head_names == tuple(f"layer {i} head {j}" for i in (1, 2) for j in (1, 2))
    assert_close(last.sum(-1), torch.ones(1, 2, 1).double())
    with pytest.raises(RegardError, match="layers 3; expected a number from 1 to 2"):
        one.showing("3")
