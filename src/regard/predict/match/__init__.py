"""Matchings: the vectors of two sentences → one vector for the pair. One file a matching."""

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Match"]


class Match(nn.Module):
    """What every matching is; made with `inputs`, the width of each vector, and the `rows` they are made of."""

    size: int  # width of what it gives
    symmetric: bool = False  # whether it is the same whichever comes first

    def forward(
        self, u: Float[Tensor, "batch inputs"], v: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch size"]:
        raise NotImplementedError
