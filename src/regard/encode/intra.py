"""Intra-attention: a Bi-LSTM whose mean state asks which words matter (`pool=intra`).

Liu, Sun, Lin & Wang 2016, "Learning Natural Language Inference using Bidirectional LSTM model and Inner-Attention".

    Intra(inputs=300)(sequences).values                  # [batch, time, 600]
"""

from typing import ClassVar

from regard.encode.bilstm import Bilstm
from regard.find import Spec

__all__ = ["Intra"]


class Intra(Bilstm):
    """A Bi-LSTM under intra-attention"""

    pool: ClassVar[Spec] = "intra"
