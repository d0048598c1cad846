"""Glimpse sensor: crops where pixels meet, means of what is farther away, nothing outside."""

import pytest
import torch

from regard.attend.glimpse_sensor import glimpse_sensor, patches

picture = torch.arange(64.0).reshape(1, 1, 8, 8)  # pixel (down, across) is 8 · down + across


def at(across: float, down: float) -> torch.Tensor:
    return torch.tensor([[float(across), float(down)]])


def test_the_middle_is_a_crop() -> None:
    [patch] = patches(picture, at(0, 0), size=4)
    torch.testing.assert_close(patch, picture[:, :, 2:6, 2:6])


def test_across_comes_first() -> None:
    """(0.25, 0) is one of eight pixels to the right of the middle."""
    [patch] = patches(picture, at(0.25, 0), size=2)
    torch.testing.assert_close(patch, picture[:, :, 3:5, 4:6])


def test_the_second_scale_is_twice_as_wide() -> None:
    """Two by two means of the four by four pixels around the middle: (18 + 19 + 26 + 27) / 4 = 22.5 and so on."""
    _, patch = patches(picture, at(0, 0), size=2, scales=2)
    assert patch.flatten().tolist() == pytest.approx([22.5, 24.5, 38.5, 40.5])


def test_between_pixels_it_is_interpolated() -> None:
    """Half a pixel to the right of the middle of four pixels: the mean of neighbours."""
    [patch] = patches(picture, at(0.125, 0), size=2)
    assert patch[0, 0, 0].tolist() == pytest.approx([27.5, 28.5])


def test_outside_there_is_nothing() -> None:
    """At the top left corner three quarters of the patch are outside."""
    [patch] = patches(picture + 1, at(-1, -1), size=2)
    assert patch.flatten().tolist() == pytest.approx([0, 0, 0, 1])


def test_sides_of_different_length() -> None:
    """Places are shares of each side."""
    wide = torch.arange(32.0).reshape(1, 1, 4, 8)
    [patch] = patches(wide, at(0.5, -0.5), size=2)
    torch.testing.assert_close(patch, wide[:, :, 0:2, 5:7])


def test_all_scales_are_one_vector() -> None:
    two = torch.cat([picture, picture.flip(3)])
    found = glimpse_sensor(two.expand(2, 3, 8, 8), at(0, 0).expand(2, 2), size=4, scales=2)
    assert found.shape == (2, 2 * 3 * 4 * 4)
    torch.testing.assert_close(found[1, :16], picture.flip(3)[0, 0, 2:6, 2:6].flatten())
