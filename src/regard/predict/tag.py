"""Tagging head: labels each token from its state, `logits_i = W₂ act(W₁ h_i)`.

With `hidden=0` it is one linear layer.

    head = TagHead(inputs=600, labels=9)
    logits = head(states)                                # [batch, time, 9]
    head.loss(logits, target), head.answers(logits, lengths, names)
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, log_softmax

from regard.predict.classify import ACTIVATIONS
from regard.ranges import Dropout, WidthOrNone
from regard.types import Prediction, Sequences, wide

__all__ = ["NOTHING", "TagHead"]

NOTHING = -100  # the label of padding, which the loss leaves out


class TagHead(nn.Module):
    """`W₂ act(W₁ h_i)`, token by token"""

    def __init__(
        self,
        inputs: int,
        labels: int,
        hidden: Annotated[WidthOrNone, "units of the hidden layer; 0 for no hidden layer"] = 0,
        act: Annotated[Literal["relu", "elu", "tanh"], "activation of the hidden layer"] = "relu",
        dropout: Annotated[Dropout, "dropout before each layer"] = 0.0,
    ) -> None:
        super().__init__()
        self.act, self.dropout = ACTIVATIONS[act], dropout
        self.W_1 = nn.Linear(inputs, hidden) if hidden else None
        self.W_2 = nn.Linear(hidden or inputs, labels)

    def forward(self, states: Float[Tensor, "batch time inputs"]) -> Float[Tensor, "batch time labels"]:
        h = dropout(states, self.dropout, self.training)
        if self.W_1 is not None:
            h = dropout(self.act(self.W_1(h)), self.dropout, self.training)
        return self.W_2(h)  # type: ignore[no-any-return]

    def loss(self, logits: Float[Tensor, "batch time labels"], target: Sequences) -> Float[Tensor, " batch"]:
        each = cross_entropy(wide(logits).transpose(1, 2), target.values, ignore_index=NOTHING, reduction="none")
        return each.sum(-1)

    def answers(
        self, logits: Float[Tensor, "batch time labels"], lengths: Sequence[int], names: Sequence[str]
    ) -> list[Prediction]:
        """The likeliest label of each token, with spaces between."""
        log_probs, best = log_softmax(wide(logits), -1).max(-1)
        return [
            Prediction(" ".join(names[n] for n in row[:length]), total, log_prob_per_token=total / max(length, 1))
            for row, each, length in zip(best.tolist(), log_probs.tolist(), lengths, strict=True)
            for total in [float(sum(each[:length]))]
        ]
