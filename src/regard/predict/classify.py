"""Classification head: a hidden layer (optional), a highway layer (optional) and an output layer.

`h = act(W₁ v + b₁)`, `logits = W₂ h + b₂`; the highway (Srivastava, Greff & Schmidhuber 2015, "Highway Networks",
section 2) adds `h ← g ⊙ act(W_h h) + (1 − g) ⊙ h`, `g = σ(W_g h)`, as in ReSAN's classifier.

    head = ClassifyHead(inputs=2400, labels=3)
    logits = head(vector)                                # [batch, 3]
    head.loss(logits, target), head.answers(logits, lengths, ["no", "maybe", "yes"])
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, elu, log_softmax, relu

from regard.errors import RegardError
from regard.ranges import BelowOne, Dropout, WidthOrNone
from regard.types import Prediction, wide

__all__ = ["ClassifyHead"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "elu": elu, "tanh": torch.tanh}


class ClassifyHead(nn.Module):
    """`W₂ act(W₁ v)`"""

    def __init__(
        self,
        inputs: int,
        labels: int,
        hidden: Annotated[WidthOrNone, "units of the hidden layer; 0 for none"] = 300,
        act: Annotated[Literal["relu", "elu", "tanh"], "activation of the hidden layer"] = "relu",
        highway: Annotated[bool, "add a highway layer after the hidden layer"] = False,
        dropout: Annotated[Dropout, "dropout before the hidden and the output layer"] = 0.0,
        label_smoothing: Annotated[BelowOne, "label smoothing of the cross entropy in training"] = 0.0,
    ) -> None:
        super().__init__()
        self.act, self.dropout, self.label_smoothing = ACTIVATIONS[act], dropout, label_smoothing
        if highway and not hidden:
            raise RegardError("highway without a hidden layer", expected="hidden of at least 1")
        self.W_1 = nn.Linear(inputs, hidden) if hidden else None
        self.W_h = nn.Linear(hidden, hidden) if highway else None
        self.W_g = nn.Linear(hidden, hidden) if highway else None
        self.W_2 = nn.Linear(hidden or inputs, labels)

    def forward(self, vector: Float[Tensor, "batch inputs"]) -> Float[Tensor, "batch labels"]:
        if self.W_1 is None:
            return self.W_2(dropout(vector, self.dropout, self.training))  # type: ignore[no-any-return]
        h = self.act(self.W_1(dropout(vector, self.dropout, self.training)))
        if self.W_h is not None and self.W_g is not None:
            g = torch.sigmoid(self.W_g(h))
            h = g * self.act(self.W_h(h)) + (1 - g) * h
        return self.W_2(dropout(h, self.dropout, self.training))  # type: ignore[no-any-return]

    def loss(self, logits: Float[Tensor, "batch labels"], target: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        smoothing = self.label_smoothing if self.training else 0.0
        return cross_entropy(wide(logits), target, reduction="none", label_smoothing=smoothing)

    def answers(
        self, logits: Float[Tensor, "batch labels"], lengths: Sequence[int], names: Sequence[str]
    ) -> list[Prediction]:
        """The likeliest label first, and all others in their order."""
        log_probs, order = log_softmax(wide(logits), -1).sort(-1, descending=True)
        return [
            Prediction(first.text, first.log_prob, others=tuple(others))
            for row, numbers in zip(log_probs.tolist(), order.tolist(), strict=True)
            for first, *others in [[Prediction(names[n], log_p) for log_p, n in zip(row, numbers, strict=True)]]
        ]
