"""Bidirectional GRU, `h_i = [→h_i; ←h_i]`.

Chung, Gulcehre, Cho & Bengio 2014, "Empirical Evaluation of Gated Recurrent Neural Networks on Sequence Modeling".
`recurrent` with the sizes of the sentence tables (300 each way). The last states or their maximum are the usual
sentence vectors (`pool=last`, `pool=max`); the default here is `source2token`.

    Bigru(inputs=300)(sequences).values                  # [batch, time, 600]
"""

from typing import Annotated, ClassVar

from regard.encode.recurrent import Recurrent
from regard.find import Spec
from regard.ranges import Depth, Dropout, Width

__all__ = ["Bigru"]


class Bigru(Recurrent):
    """Bidirectional GRU"""

    pool: ClassVar[Spec] = "source2token"

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "units of the hidden state in each direction"] = 300,
        layers: Annotated[Depth, "number of layers"] = 1,
        dropout: Annotated[Dropout, "dropout between layers; with one layer it has no effect"] = 0.0,
    ) -> None:
        super().__init__(inputs, "gru", hidden, layers, bidirectional=True, dropout=dropout)
