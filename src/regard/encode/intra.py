"""Bidirectional LSTM for intra-attention: the mean state is the query of `pool=intra`.

Liu, Sun, Lin & Wang 2016, "Learning Natural Language Inference using Bidirectional LSTM model and Inner-Attention".

    Intra(inputs=300)(sequences).values                  # [batch, time, 600]
"""

from typing import ClassVar

from regard.encode.bilstm import Bilstm
from regard.find import Spec

__all__ = ["Intra"]


class Intra(Bilstm):
    """Bidirectional LSTM with intra-attention (`pool=intra`)"""

    pool: ClassVar[Spec] = "intra"
