"""Embeddings: turn the values of a field into vectors. One module per embedding."""

from typing import Any

from torch import nn

from regard.types import Sequences

__all__ = ["Embedding"]


class Embedding(nn.Module):
    """What turns a collated batch into vectors."""

    size: int  # width of the vectors
    vocab: int = 0  # number of ids, where the values are ids
    steady: bool = False  # whether it never waits for a GPU, whatever it reads (see `Network.steady`)

    def forward(self, inputs: Any) -> Sequences:
        raise NotImplementedError
