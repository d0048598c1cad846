"""Unidirectional LSTM: a state depends only on earlier tokens, so it can read a stream.

Hochreiter & Schmidhuber 1997, "Long Short-Term Memory". `recurrent` with the sizes of the sentence tables (300).

    Lstm(inputs=300)(sequences).values                   # [batch, time, 300]
"""

from typing import Annotated, ClassVar

from regard.encode.recurrent import Recurrent
from regard.find import Spec
from regard.ranges import Depth, Dropout, Width

__all__ = ["Lstm"]


class Lstm(Recurrent):
    """Unidirectional LSTM"""

    pool: ClassVar[Spec] = "last"

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "units of the hidden state"] = 300,
        layers: Annotated[Depth, "number of layers"] = 1,
        dropout: Annotated[Dropout, "dropout between layers; with one layer it has no effect"] = 0.0,
    ) -> None:
        super().__init__(inputs, "lstm", hidden, layers, bidirectional=False, dropout=dropout)
