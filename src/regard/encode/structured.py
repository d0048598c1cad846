"""Structured self-attention: a Bi-LSTM under r rows of attention (`pool=structured`).

Lin et al. 2017, "A Structured Self-attentive Sentence Embedding".

    Structured(inputs=300)(sequences).values             # [batch, time, 600]
"""

from typing import ClassVar

from regard.encode.bilstm import Bilstm
from regard.find import Spec

__all__ = ["Structured"]


class Structured(Bilstm):
    """A Bi-LSTM under r rows of attention"""

    pool: ClassVar[Spec] = "structured"
