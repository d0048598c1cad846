"""Layers are shown while one looks, and no longer; what cannot be shown is told, and changes nothing."""

from types import SimpleNamespace

import pytest
from torch import nn

from regard.attend.layers import Layers
from regard.errors import RegardError
from regard.look.layers import check, count, shown
from regard.predict.generate import Decoder


class Three(Layers, nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks, self.look = nn.ModuleList(nn.Linear(1, 1) for _ in range(3)), "last"


@pytest.mark.parametrize("inside", [True, False])
def test_shown_for_a_while(inside: bool) -> None:
    three = Three()
    network = SimpleNamespace(decoder=three) if inside else three
    assert count(network) == 3
    with shown(network, "2", "mine"):
        assert three.look == 1
        with shown(network, "all", "mine"), shown(network, "", "mine"):
            assert three.look == "all"
        assert three.look == 1
    assert three.look == "last"

    def fails() -> None:
        with shown(network, "mean", "mine"):
            assert three.look == "mean"
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert three.look == "last"


def test_to_check_changes_nothing() -> None:
    three = Three()
    check(three, "all", "mine")
    for wrong in ("4", "0", "x"):
        with pytest.raises(RegardError, match=f"^layers {wrong}; expected a number from 1 to 3, or last, mean or all$"):
            check(three, wrong, "mine")
    assert three.look == "last"


def test_where_there_are_none() -> None:
    assert count(nn.Linear(1, 1)) == count(Decoder()) == count(None) == 0
    for network, said in (
        (nn.Linear(1, 1), "mine has no layers that look; expected"),
        (Decoder(), "a decoder with one"),
    ):
        with pytest.raises(RegardError, match=f"^{said}"), shown(network, "all", "mine"):
            pass
    with shown(nn.Linear(1, 1), "", "mine"):
        pass
