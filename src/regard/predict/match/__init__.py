"""Matchings: combine the vectors of two sentences into one. One module per matching."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Match"]


class Match(nn.Module):
    """What every matching is; made with `inputs`, the width of each vector, and the `rows` they are made of."""

    size: int  # width of what it gives
    symmetric: bool = False  # whether it is the same whichever comes first

    @abstractmethod
    def forward(
        self, u: Float[Tensor, "batch inputs"], v: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch size"]:
        raise NotImplementedError
