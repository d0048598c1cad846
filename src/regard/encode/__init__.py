"""Encoders: vectors in, a memory to look at out. One file an encoder.

Whatever the input was (words, a picture's map, frames of sound), what comes out is a `Memory` with
keys, values and a summary; the decoder, the looking and the search never learn which.
"""

from typing import ClassVar, Literal

from torch import nn

from regard.find import Spec
from regard.types import Memory, Sequences

__all__ = ["Encoder"]


class Encoder(nn.Module):
    """What every encoder is; made with `inputs`, the width of the vectors it reads."""

    size: int  # width of the keys and values it gives
    summary: int  # width of the summary it gives
    pool: ClassVar[Spec] = "max"  # how its states become one vector where nothing else is asked for
    chooses: bool = False  # whether it chooses tokens, which is learned by reinforcement
    phase: Literal["supervised", "policy", "both"] = "supervised"  # what is learned at this point of a training

    def on_step(self, progress: float) -> None:
        """Told before each step how much of the training is done (0 to 1), for what has phases."""

    def forward(self, inputs: Sequences) -> Memory:
        raise NotImplementedError
