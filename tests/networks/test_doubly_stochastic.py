"""Doubly stochastic attention: by hand, under padding, and its way into the loss."""

import pytest
import torch

from generation_tasks import batch_of_all, made
from regard.errors import RegardError
from regard.networks.doubly_stochastic import doubly_stochastic
from regard.types import Look, Memory


def penalty(weights: list[list[float]], said: list[bool], there: list[bool] | None = None) -> float:
    shown = torch.tensor([weights])
    memory = Memory(
        values := torch.zeros(1, shown.shape[-1], 1), values, None if there is None else torch.tensor([there])
    )
    return float(doubly_stochastic(Look(shown[..., :1], lambda: shown), torch.tensor([said]), memory))


def test_a_number_by_hand() -> None:
    """The sums are 1.5, 0.5 and 0: 0.25 + 0.25 + 1. The third step is not there."""
    weights = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert penalty(weights, [True, True, False]) == pytest.approx(1.5)
    assert penalty(weights, [True, True, True]) == pytest.approx(0.5)
    assert penalty(weights, [True, True, False], [True, True, False]) == pytest.approx(0.5)  # the third part neither


def test_it_is_in_the_loss_and_teaches_the_scores() -> None:
    torch.manual_seed(1)
    task = made("caption", doubly_stochastic=2.0)
    network, batch = task.network().eval(), batch_of_all(task)
    with_it = network(batch)
    network.doubly_stochastic = 0.0
    without = network(batch)
    added = with_it.total - without.total
    assert added.item() == pytest.approx(2 * len(batch.target.lengths) * with_it.notes["uneven"].item(), rel=1e-4)
    added.backward()
    assert network.decoder.attention.score.W_k.weight.grad.any()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attention": {"normalizer": "sample"}}, "doubly_stochastic=0.5 and a normalizer that samples"),
        ({"decoder": {"name": "plain", "hidden": 4, "embed": 4}}, "doubly_stochastic=0.5 and decoder=plain"),
    ],
)
def test_where_it_can_teach_nothing_it_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=f"^{said}"):
        made("caption", doubly_stochastic=0.5, **options).network()
