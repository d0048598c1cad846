"""Classify: one vector → how likely each label is, through a hidden layer and, where asked for, a highway.

`h = act(W₁ v + b₁)`, `logits = W₂ h + b₂`; the highway (Srivastava, Greff & Schmidhuber 2015, "Highway Networks",
section 2) adds `h ← g ⊙ act(W_h h) + (1 − g) ⊙ h`, `g = σ(W_g h)`, as in ReSAN's classifier.

    Classify(inputs=2400, labels=3)(vector)              # [batch, 3]
"""

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout, elu, relu

from regard.ranges import Dropout, Width

__all__ = ["Classify"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "elu": elu, "tanh": torch.tanh}


class Classify(nn.Module):
    """`W₂ act(W₁ v)`"""

    def __init__(
        self,
        inputs: int,
        labels: int,
        hidden: Annotated[Width, "units of the hidden layer"] = 300,
        act: Annotated[Literal["relu", "elu", "tanh"], "activation of the hidden layer"] = "relu",
        highway: Annotated[bool, "add a highway layer after the hidden layer"] = False,
        dropout: Annotated[Dropout, "dropout before the hidden and the output layer"] = 0.0,
    ) -> None:
        super().__init__()
        self.act, self.dropout = ACTIVATIONS[act], dropout
        self.W_1 = nn.Linear(inputs, hidden)
        self.W_h = nn.Linear(hidden, hidden) if highway else None
        self.W_g = nn.Linear(hidden, hidden) if highway else None
        self.W_2 = nn.Linear(hidden, labels)

    def forward(self, vector: Float[Tensor, "batch inputs"]) -> Float[Tensor, "batch labels"]:
        h = self.act(self.W_1(dropout(vector, self.dropout, self.training)))
        if self.W_h is not None and self.W_g is not None:
            g = torch.sigmoid(self.W_g(h))
            h = g * self.act(self.W_h(h)) + (1 - g) * h
        return self.W_2(dropout(h, self.dropout, self.training))  # type: ignore[no-any-return]
