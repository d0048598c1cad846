"""First: the state of the first position, which in BERT's texts is that of [CLS].

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", section 3. With
`dense` it goes through a layer with tanh, as in BERT's own pooler: `tanh(W h_1 + b)`.

    First(inputs=384)(memory).vector                     # [batch, 384]
"""

from typing import Annotated

import torch
from torch import nn

from regard.pool import Pool, Pooled, there
from regard.types import Memory

__all__ = ["First"]


class First(Pool):
    """State of the first position, such as [CLS]"""

    def __init__(self, inputs: int, dense: Annotated[bool, "a dense layer with tanh after it"] = False) -> None:
        super().__init__()
        self.size = inputs
        self.dense = nn.Linear(inputs, inputs) if dense else None

    def forward(self, memory: Memory) -> Pooled:
        first = there(memory)[0][:, 0]
        return Pooled(first if self.dense is None else torch.tanh(self.dense(first)))
