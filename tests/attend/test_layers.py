"""Looks of several layers as one: the last, one by number, the mean, all."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from regard.attend.attention import Attention
from regard.attend.layers import Layers
from regard.errors import RegardError
from regard.types import Look


class Three(Layers):
    """Three blocks of two, two and no heads."""

    def __init__(self) -> None:
        self.blocks = [SimpleNamespace(heads=heads) for heads in (SimpleNamespace(heads=2),) * 2 + (None,)]
        self.show("last")

    def looking(self, block: Any) -> Attention:
        return block  # type: ignore[no-any-return]


def looked(value: float, chosen: float | None = None) -> Look:
    sure = None if chosen is None else torch.full((1, 3), chosen)
    return Look(torch.full((1, 3, 4), value), lambda: torch.full((1, 2, 3, 5), value), log_prob=sure, entropy=sure)


looks = [looked(1.0, -1.0), looked(2.0, -2.0), looked(6.0, -4.0)]


def test_by_hand() -> None:
    three = Three()
    assert three.shown(looks) is looks[2]
    three.show(0)
    assert three.shown(looks) is looks[0]
    three.show("mean")
    mean = three.shown(looks)
    assert mean.weights.unique().tolist() == mean.context.unique().tolist() == [3.0]
    assert mean.log_prob is not None
    assert mean.log_prob.unique().tolist() == [-7.0]
    three.show("all")
    every = three.shown(looks)
    assert every.weights.shape == (1, 6, 3, 5)
    assert every.weights[0, :, 0, 0].tolist() == [1, 1, 2, 2, 6, 6]
    assert every.context.shape == (1, 3, 12)
    assert three.head_names == (
        "layer 1 head 1",
        "layer 1 head 2",
        "layer 2 head 1",
        "layer 2 head 2",
        "layer 3 head 1",
    )
    assert three.shown(looks[:1]) is looks[0]


def test_one_that_chose_nothing_says_so_for_all() -> None:
    three = Three()
    for how in ("mean", "all"):
        three.show(how)
        assert three.shown([looked(1.0, -1.0), looked(2.0)]).log_prob is None


def test_people_count_from_one() -> None:
    three = Three()
    assert three.showing("2").shown(looks) is looks[1]
    for layers in ("mean", "all", "last"):
        assert three.showing(layers).look == layers
    assert three.showing("") is three
    for wrong in ("0", "4", "first", "-1", "²"):
        with pytest.raises(RegardError, match="a number from 1 to 3"):
            three.showing(wrong)
    assert three.look == "last"  # as it was made
    with pytest.raises(RegardError, match="look=3"):
        three.show(3)
