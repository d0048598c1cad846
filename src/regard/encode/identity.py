"""Identity: no encoder; attention reads the vectors of the input, for example those of a picture.

h_i = x_i

Identity(inputs=64)(sequences).values                # [batch, position, 64]
"""

from typing import ClassVar

from regard.encode import Encoder
from regard.find import Spec
from regard.types import Memory, Sequences

__all__ = ["Identity"]


class Identity(Encoder):
    """No encoder: attention sees the embedded input itself"""

    pool: ClassVar[Spec] = "attention"
    steady: ClassVar[bool] = True

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = self.summary = inputs

    def forward(self, inputs: Sequences) -> Memory:
        h = inputs.values.masked_fill(~inputs.mask.unsqueeze(-1), 0.0)
        count = inputs.mask.sum(1, keepdim=True).clamp(min=1)
        return Memory(h, h, inputs.mask, h.sum(1) / count)
