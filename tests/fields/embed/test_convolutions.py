"""Convolutions: a grid of vectors, each of which sees its own part of the picture."""

import pytest
import torch

from regard.errors import RegardError
from regard.fields.embed.convolutions import Convolutions
from regard.types import Pixels


def test_a_picture_becomes_a_grid_read_line_by_line() -> None:
    network = Convolutions(channels=3, side=16, dim=24, blocks=2).eval()
    found = network(Pixels(torch.zeros(2, 3, 16, 16)))
    assert network.grid == 4
    assert found.values.shape == (2, 16, 24)
    assert found.mask.all()
    assert found.lengths.tolist() == [16, 16]


def test_a_position_sees_its_own_part() -> None:
    """A change in the top right corner reaches the vector of that corner, and not the one of the bottom left."""
    torch.manual_seed(1)
    network = Convolutions(channels=1, side=32, dim=8, blocks=2).eval()
    pixels = torch.rand(1, 1, 32, 32)
    changed = pixels.clone()
    changed[..., :4, -4:] += 1.0
    before, after = (network(Pixels(one)).values[0] for one in (pixels, changed))
    moved = (before != after).any(-1).reshape(8, 8)
    assert moved[0, 7]
    assert not moved[4:, :4].any()


def test_the_place_is_part_of_the_vector() -> None:
    network = Convolutions(channels=1, side=8, dim=8, blocks=1).eval()
    torch.nn.init.normal_(network.row)
    torch.nn.init.normal_(network.column)
    grid = network(Pixels(torch.zeros(1, 1, 8, 8))).values.reshape(4, 4, 8)
    torch.testing.assert_close(grid[2, 2] - grid[1, 2], network.row[2] - network.row[1])
    torch.testing.assert_close(grid[2, 2] - grid[2, 1], network.column[2] - network.column[1])


@pytest.mark.parametrize("side", [30, 2])
def test_a_size_that_cannot_be_halved_so_often_is_refused(side: int) -> None:
    with pytest.raises(RegardError, match=r"multiple of 4"):
        Convolutions(channels=1, side=side, blocks=2)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_each_position_sees_what_lies_around_the_middle_of_its_cell(blocks: int) -> None:
    """The pixels with a gradient reach as far to the left as to the right, and as far up as down."""
    network = Convolutions(channels=1, side=64, dim=8, blocks=blocks).eval()
    with torch.no_grad():
        for parameter in network.layers.parameters():
            parameter.abs_()  # so that no ReLU is closed
    pixels = torch.ones(1, 1, 64, 64, requires_grad=True)
    cell = 2**blocks
    line, column = network.grid // 2, network.grid // 2 - 1
    seen = network(Pixels(pixels)).values[0, line * network.grid + column].sum()
    (slope,) = torch.autograd.grad(seen, pixels)
    for axis, place in ((0, line), (1, column)):
        there = (slope[0, 0] != 0).any(1 - axis).nonzero().flatten()
        assert (int(there.min()) + int(there.max()) + 1) / 2 == cell * (place + 0.5)
