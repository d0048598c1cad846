"""Bidirectional LSTM for structured self-attention (`pool=structured`).

Lin et al. 2017, "A Structured Self-attentive Sentence Embedding".

    Structured(inputs=300)(sequences).values             # [batch, time, 600]
"""

from typing import ClassVar

from regard.encode.bilstm import Bilstm
from regard.find import Spec

__all__ = ["Structured"]


class Structured(Bilstm):
    """Bidirectional LSTM with structured self-attention (`pool=structured`)"""

    pool: ClassVar[Spec] = "structured"
