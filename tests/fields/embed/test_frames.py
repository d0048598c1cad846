"""Frames: positions stand where they say, padding changes nothing, and sound is only disturbed in training."""

from typing import Any

import pytest
import torch

from regard.fields.embed.frames import Frames
from regard.types import Sequences

HOP = 40


def frames(**options: Any) -> Frames:
    torch.manual_seed(1)
    sizes = {"rate": 4_000, "bands": 8, "window": 100, "hop": HOP, "normalise": "set"}
    return Frames(**sizes, mean=[-5.0] * 8, std=[2.0] * 8, **{"dim": 6, "channels": 4, "dropout": 0.0, **options})


def sounds(*lengths: int) -> Sequences:
    generator = torch.Generator().manual_seed(2)
    values = torch.randn(len(lengths), max(lengths), generator=generator) * 0.1
    count = torch.tensor(lengths)
    mask = torch.arange(max(lengths)) < count[:, None]
    return Sequences(values * mask, mask, count)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_position_hears_its_own_stretch(blocks: int) -> None:
    """The sound that a vector depends on is centred on the stretch that its position stands for."""
    part, step = frames(blocks=blocks).eval(), HOP * 2**blocks
    source = sounds(16 * step)
    values = source.values.requires_grad_()
    found = part(Sequences(values, source.mask, source.lengths)).values
    assert found.shape == (1, 16, 6)
    position = 8
    gradient = torch.autograd.grad(found[0, position].abs().sum(), values)[0][0]
    [heard] = gradient.nonzero().T
    middle = (position + 0.5) * step
    assert abs((int(heard.min()) + int(heard.max()) + 1) / 2 - middle) <= 1
    assert gradient[position * step : (position + 1) * step].any()


def test_padding_changes_nothing() -> None:
    part = frames().eval()
    for options in ({}, {"normalise": "recording"}):
        part.normalise = options.get("normalise", "set")  # type: ignore[assignment]
        together = part(sounds(1_000, 330))
        alone = part(Sequences(*(one[1:, :330] for one in (sounds(1_000, 330).values, sounds(1_000, 330).mask)),
                               torch.tensor([330])))  # fmt: skip
        assert together.lengths.tolist() == [7, 3]
        torch.testing.assert_close(together.values[1:, :3], alone.values, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("option", [{"noise": 1.0}, {"speed": 0.3}, {"warp": 0.3}, {"masks": 3}])
def test_sound_is_disturbed_in_training_alone(option: dict[str, Any]) -> None:
    part, source = frames(**option), sounds(4_000, 2_000)
    part.eval()
    assert torch.equal(part(source).values, part(source).values)
    part.train()
    for layer in part.layers:  # whose statistics would make a difference of their own
        layer[1].eval()
    one, other = part(source), part(source)
    assert one.values.shape != other.values.shape or not torch.allclose(one.values, other.values)
    assert torch.isfinite(one.values).all()
    assert one.values.shape[1] == one.mask.shape[1] == one.lengths.max()


def test_hidden_sound_is_the_mean() -> None:
    """All of it hidden: no sample has a part in any vector."""
    part, source = frames().eval(), sounds(400)
    hidden = Sequences(source.values, torch.zeros_like(source.mask), source.lengths)
    other = Sequences(source.values + 1, torch.zeros_like(source.mask), source.lengths)
    assert torch.equal(part(hidden).values, part(other).values)
