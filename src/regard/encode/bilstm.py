"""Bidirectional LSTM, `h_i = [→h_i; ←h_i]`.

Graves & Schmidhuber 2005, "Framewise Phoneme Classification with Bidirectional LSTM". `recurrent` with the sizes of
the sentence tables (300 each way). The last states or their maximum are the usual sentence
vectors (`pool=last`, `pool=max`); the default here is `source2token`.

    Bilstm(inputs=300)(sequences).values                 # [batch, time, 600]
"""

from typing import Annotated, ClassVar

from regard.encode.recurrent import Recurrent
from regard.find import Spec
from regard.ranges import Depth, Dropout, Width

__all__ = ["Bilstm"]


class Bilstm(Recurrent):
    """Bidirectional LSTM"""

    pool: ClassVar[Spec] = "source2token"

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "units of the hidden state in each direction"] = 300,
        layers: Annotated[Depth, "number of layers"] = 1,
        dropout: Annotated[Dropout, "dropout between layers; with one layer it has no effect"] = 0.0,
    ) -> None:
        super().__init__(inputs, "lstm", hidden, layers, bidirectional=True, dropout=dropout)
