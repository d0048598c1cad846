"""Glimpse sensor: patches of a picture around a place, sharp in the middle and coarse around it.

`ρ(x, l)`: k square patches of x around l ∈ [−1, 1]², the first `size` pixels wide and each of the others twice as wide
as the one before, all brought to size × size pixels by taking means. Mnih et al. 2014, "Recurrent Models of Visual
Attention", section 3.1. Places are (across, down): (−1, −1) is the top left corner of the picture, (0, 0) its middle.
Between pixels the picture is interpolated; outside it is 0.

    glimpse_sensor(pixels, at, size=8, scales=2)        # [batch, 2 * channel * 8 * 8]
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import avg_pool2d, grid_sample

__all__ = ["glimpse_sensor", "patches"]


def patches(
    pixels: Float[Tensor, "batch channel height width"], at: Float[Tensor, "batch 2"], size: int, scales: int = 1
) -> list[Float[Tensor, "batch channel size size"]]:
    """The patches of each scale, the sharpest first."""
    high, broad = pixels.shape[2:]
    found = []
    for scale in range(scales):
        wide = size * 2**scale
        steps = torch.arange(wide, device=at.device, dtype=at.dtype) + 0.5 - wide / 2
        down, across = torch.meshgrid(steps, steps, indexing="ij")
        grid = at[:, None, None] + torch.stack((across / (broad / 2), down / (high / 2)), -1)
        seen = grid_sample(pixels, grid.to(pixels.dtype), padding_mode="zeros", align_corners=False)
        found.append(avg_pool2d(seen, 2**scale) if scale else seen)
    return found


def glimpse_sensor(
    pixels: Float[Tensor, "batch channel height width"], at: Float[Tensor, "batch 2"], size: int, scales: int = 1
) -> Float[Tensor, "batch seen"]:
    """The patches of all scales as one vector."""
    return torch.cat([patch.flatten(1) for patch in patches(pixels, at, size, scales)], 1)
