"""Last: the summary the encoder gives, for a recurrent one its last state (of each way).

Sutskever, Vinyals & Le 2014, "Sequence to Sequence Learning with Neural Networks", section 2.

    Last(summary=600)(memory).vector                     # [batch, 600]
"""

from regard.errors import RegardError
from regard.pool import Pool, Pooled
from regard.types import Memory

__all__ = ["Last"]


class Last(Pool):
    """The encoder's own summary; for a recurrent encoder, its last state"""

    def __init__(self, summary: int) -> None:
        super().__init__()
        self.size = summary

    def forward(self, memory: Memory) -> Pooled:
        if memory.summary is None:
            raise RegardError("pool=last with an encoder that has no summary", do="use pool=mean, max or attention")
        if memory.mask is None:
            return Pooled(memory.summary)
        return Pooled(memory.summary.masked_fill(~memory.mask.any(-1, keepdim=True), 0.0))
