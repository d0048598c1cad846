"""Encoders: vectors in, a memory to look at out. One file an encoder.

Whatever the input was (words, a picture's map, frames of sound), what comes out is a `Memory` with
keys, values and a summary; the decoder, the looking and the search never learn which.
"""

from torch import nn

from regard.types import Memory, Sequences

__all__ = ["Encoder"]


class Encoder(nn.Module):
    """What every encoder is; made with `inputs`, the width of the vectors it reads."""

    size: int  # width of the keys and values it gives
    summary: int  # width of the summary it gives

    def forward(self, inputs: Sequences) -> Memory:
        raise NotImplementedError
