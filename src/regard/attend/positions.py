"""Position encodings: attention without them does not know the order of its keys.

    sinusoid   x_i + p_i,  p_{i,2f} = sin(i / 10000^{2f/d}),  p_{i,2f+1} = cos(i / 10000^{2f/d})
               Vaswani et al. 2017, "Attention Is All You Need", section 3.5
    learned    x_i + P_i,  one learned vector per position, up to `max_length` (same section)
    rotary     each pair (2f, 2f+1) of a head's query and key is rotated by the angle i / 10000^{2f/w}, so that
               q_j · k_i depends on positions only through j − i; w is the width of a head
               Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.2

Positions are counted from `first`, so that a token read alone (cached decoding) keeps its position.

    at = Positions("rotary", size=256, heads=4)(first=0, time=20, device=x.device)
    x, q, k = at.added(x), at.rotated(q), at.rotated(k)
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError

__all__ = ["Kind", "Places", "Positions", "angles", "rotated", "sinusoid"]

Kind = Literal["sinusoid", "learned", "rotary"]


def angles(i: Int[Tensor, "*some"], width: int) -> Float[Tensor, "*some half"]:
    """`i / 10000^{2f/width}` for the places i and f < width / 2."""
    kind = torch.float32 if i.device.type == "mps" else torch.float64  # MPS has no float64
    f = torch.arange((width + 1) // 2, device=i.device, dtype=kind)
    return i.to(kind).unsqueeze(-1) / 10_000 ** (2 * f / width)


def sinusoid(i: Int[Tensor, "*some"], width: int) -> Float[Tensor, "*some width"]:
    """The sine of each angle in the even features, its cosine in the odd ones after them."""
    angle = angles(i, width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[..., :width]


def rotated(
    x: Float[Tensor, "*row time heads"], cos: Float[Tensor, "*rows time half"], sin: Float[Tensor, "*rows time half"]
) -> Float[Tensor, "*row time heads"]:
    """Every head's pairs (a, b) as (a cos − b sin, a sin + b cos); worked out in float32 at least."""
    half = cos.shape[-1]
    pairs = x.reshape(*x.shape[:-1], x.shape[-1] // (2 * half), half, 2)
    a, b = pairs.unbind(-1)
    c, s = cos.unsqueeze(-2), sin.unsqueeze(-2)  # the same for every head
    return torch.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape).to(x.dtype)


@dataclass(frozen=True)
class Places:
    """Some positions: what is added to the vectors, and how queries and keys are rotated."""

    vectors: Float[Tensor, "*rows time size"] | None = None
    cos: Float[Tensor, "*rows time half"] | None = None
    sin: Float[Tensor, "*rows time half"] | None = None

    def added(self, x: Float[Tensor, "*row time size"]) -> Float[Tensor, "*row time size"]:
        return x if self.vectors is None else x + self.vectors.to(x.dtype)

    def rotated(self, x: Float[Tensor, "*row time heads"]) -> Float[Tensor, "*row time heads"]:
        """For any number of heads side by side, of queries and keys at once too."""
        if self.cos is None or self.sin is None:
            return x
        kind = torch.promote_types(x.dtype, torch.float32)
        return rotated(x, self.cos.to(kind), self.sin.to(kind))


class Positions(nn.Module):
    """One of the three kinds, for vectors of `size` with `heads`; learned positions end at `max_length`."""

    def __init__(self, kind: Kind, size: int, heads: int, max_length: int = 1024) -> None:
        super().__init__()
        self.kind, self.size, self.width = kind, size, size // heads
        if kind == "rotary" and self.width % 2:
            raise RegardError(
                f"rotary positions over heads of width {self.width}",
                expected="an even width, since features are rotated in pairs",
            )
        self.places = nn.Embedding(max_length, size) if kind == "learned" else None
        if self.places is not None:
            nn.init.normal_(self.places.weight, std=size**-0.5)

    def forward(self, first: int, time: int, device: torch.device | str | None = None) -> Places:
        """Places next to each other, the same for every row."""
        return self.at(torch.arange(first, first + time, device=device), first + time)

    def at(self, i: Int[Tensor, "*row time"], end: int) -> Places:
        """These places, all before `end`; they may be others in each row."""
        if self.places is not None:
            longest = self.places.num_embeddings
            if end > longest:
                raise RegardError(
                    f"a sequence of {end:,} tokens",
                    expected=f"at most {longest:,}, the number of learned positions",
                    do="use positions=sinusoid or rotary, or train with a larger max_length",
                )
            return Places(self.places(i))
        if self.kind == "sinusoid":
            return Places(sinusoid(i, self.size))
        angle = angles(i, self.width)
        return Places(cos=angle.cos(), sin=angle.sin())
