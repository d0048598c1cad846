"""A network with another part shares all else and leaves the network alone; so does one that shows other layers."""

import pytest
from torch import nn

from generation_tasks import made
from regard.errors import RegardError
from regard.networks.swap import swapped
from regard.types import Network

BLOCK = {"name": "transformer", "size": 4, "heads": 1, "layers": 3, "ffn": 4}


def test_a_part_however_deep() -> None:
    deep, beside = nn.Linear(1, 1), nn.Linear(1, 1)
    around = nn.Sequential(nn.Sequential(deep, beside), beside)
    other = nn.Linear(1, 1)
    view = swapped(around, deep, other)
    assert (view[0][0], view[0][1], view[1]) == (other, beside, beside)
    assert around[0][0] is deep
    assert swapped(around, other, deep) is around  # there is no such part


@pytest.mark.parametrize("task", ["translate", "agree", "language"])
def test_a_view_shows_other_layers_and_shares_all_else(task: str) -> None:
    network: Network = made(task, decoder=BLOCK, network=BLOCK).network()

    def look(one: Network) -> str | int:
        return next(part.look for part in one.modules() if isinstance(getattr(part, "look", None), str | int))

    assert network.layers == 3
    view = network.showing("2")
    assert (look(view), look(network)) == (1, "last")
    assert [id(one) for one in view.parameters()] == [id(one) for one in network.parameters()]
    assert network.showing("") is network
    for wrong in ("4", "0", "x"):
        with pytest.raises(RegardError, match=f"^layers {wrong}; expected a number from 1 to 3, or last, mean or all$"):
            network.showing(wrong)


@pytest.mark.parametrize("task", ["translate", "classify", "language"])
def test_where_there_are_none(task: str) -> None:
    network: Network = made(task).network()
    assert network.layers == 0
    assert network.showing("") is network
    with pytest.raises(RegardError, match=r"^layers: this model has none to choose from; expected a Transformer$"):
        network.showing("1")
