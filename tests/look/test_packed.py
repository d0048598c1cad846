"""Packed weights: off by at most half a step, small pictures that lose no peak, sizes that are told."""

import base64
import zlib

import numpy as np
import pytest
from any_model import Model, Pieces

from regard.look.models import of
from regard.look.packed import pack, thumbnail, unpack


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 12), (40, 3)])
def test_no_weight_is_off_by_more_than_half_a_step(rows: int, columns: int) -> None:
    chance = np.random.default_rng(0)
    weights = chance.dirichlet(np.full(columns, 0.1), rows).astype(np.float32)
    weights[0] = 0
    found = unpack(pack(weights), rows, columns)
    bound = weights.max(-1, keepdims=True) / 510 + 1e-7
    assert (np.abs(found - weights) <= bound).all()
    assert not found[0].any()


def test_a_peak_is_seen_in_the_small_picture() -> None:
    weights = np.zeros((500, 100), np.float32)
    weights[499, 99], weights[250, 0] = 0.5, 0.25
    small = thumbnail(weights)
    assert small.shape == (48, 48)
    assert small[47, 47] == 255
    assert small.max(1).argsort()[-2:].tolist() == [24, 47]
    assert thumbnail(weights[:3, :5]).shape == (3, 5)


def test_the_page_is_told_all_it_needs() -> None:
    scene = of(Model(), Pieces(), "the cat saw the other").scene()
    (shown,) = scene["items"][0]["maps"]
    grid = shown["grid"]
    assert shown["names"][:3] == ["mean of all heads", "rollout", "layer 1, head 1"]
    assert len(shown["names"]) == len(shown["packed"]) == len(shown["heads"]) == grid["first"] + 6
    assert grid["layers"] == [1, 2]
    assert grid["bytes"] == sum(map(len, shown["packed"]))
    assert grid["weights"] == 6 * len(shown["rows"]) ** 2
    assert [len(one["scores"]) for one in grid["searches"]] == [6] * len(grid["searches"])
    small = zlib.decompress(base64.b64decode(grid["small"]), -15)
    assert len(small) == 6 * grid["side"][0] * grid["side"][1]
