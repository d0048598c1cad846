"""Regression head: predicts a distribution over the integer scores of a scale and returns its mean.

`y = Σ_j j · p_j` over the integers `low … high`; a true score y between two of them is the sparse distribution
`p_⌊y⌋ = ⌊y⌋ + 1 − y`, `p_⌊y⌋+1 = y − ⌊y⌋`, and the loss is the KL divergence from it. Tai, Socher & Manning 2015,
"Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks", section 5.2. Differs from the
paper: its hidden layer has a sigmoid, this one `act` (a relu by default), and may have a highway and dropout.

    head = RegressHead(inputs=2400, low=1, high=5)
    logits = head(vector)                                # [batch, 5]
    head.loss(logits, scores), head.answers(logits, lengths, ["1", "2", "3", "4", "5"])
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import kl_div, log_softmax

from regard.errors import RegardError
from regard.predict.classify import ClassifyHead
from regard.ranges import Dropout, Range, Width
from regard.types import Prediction, wide

__all__ = ["RegressHead", "expected", "sparse"]


def sparse(scores: Float[Tensor, " batch"], low: int, high: int) -> Float[Tensor, "batch step"]:
    """The distribution over the steps whose mean is the score, on the two steps around it; a score beyond an end of
    the scale counts as that end."""
    steps = torch.arange(low, high + 1, device=scores.device, dtype=scores.dtype)
    return (1 - (steps - scores.clamp(low, high).unsqueeze(-1)).abs()).clamp(min=0.0)


def expected(logits: Float[Tensor, "batch step"], low: int) -> Float[Tensor, " batch"]:
    """The mean of the distribution, in float32 at least: from 4 to 5 bfloat16 has steps of 1/32."""
    logits = wide(logits)
    steps = torch.arange(low, low + logits.shape[-1], device=logits.device, dtype=logits.dtype)
    return (torch.softmax(logits, -1) * steps).sum(-1)  # not `@`, which autocast takes in half precision


class RegressHead(nn.Module):
    """`y = Σ_j j · softmax(W₂ act(W₁ v))_j`"""

    def __init__(
        self,
        inputs: int,
        low: Annotated[int, Range(-1000, 1000), "lowest score of the scale"] = 1,
        high: Annotated[int, Range(-1000, 1000), "highest score of the scale"] = 5,
        hidden: Annotated[Width, "units of the hidden layer"] = 300,
        act: Annotated[Literal["relu", "elu", "tanh"], "activation of the hidden layer"] = "relu",
        highway: Annotated[bool, "add a highway layer after the hidden layer"] = False,
        dropout: Annotated[Dropout, "dropout before the hidden and the output layer"] = 0.0,
    ) -> None:
        super().__init__()
        if low >= high:
            raise RegardError(f"a scale from {low} to {high}", expected="low below high")
        self.low, self.high = low, high
        self.scores = ClassifyHead(inputs, high - low + 1, hidden, act, highway, dropout)

    def forward(self, vector: Float[Tensor, "batch inputs"]) -> Float[Tensor, "batch step"]:
        return self.scores(vector)  # type: ignore[no-any-return]

    def loss(self, logits: Float[Tensor, "batch step"], target: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        log_p = log_softmax(wide(logits), -1)
        return kl_div(log_p, sparse(target.to(log_p.dtype), self.low, self.high), reduction="none").sum(-1)

    def answers(
        self, logits: Float[Tensor, "batch step"], lengths: Sequence[int], names: Sequence[str]
    ) -> list[Prediction]:
        """The mean, and with it the steps of the scale, the likeliest first. A mean has no probability; steps have."""
        log_p = log_softmax(logits.cpu().double(), -1)  # not on the device: MPS has no float64
        log_probs, order = log_p.sort(dim=-1, descending=True, stable=True)
        return [
            Prediction(
                f"{mean:.4f}", None, others=tuple(Prediction(names[n], p) for p, n in zip(row, numbers, strict=True))
            )
            for mean, row, numbers in zip(
                expected(log_p, self.low).tolist(), log_probs.tolist(), order.tolist(), strict=True
            )
        ]
