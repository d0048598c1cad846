"""Tag: the state of each token → how likely each of its labels is, `logits_i = W₂ act(W₁ h_i)`.

The transducer of n inputs and n outputs. With `hidden=0` it is one linear layer.

    Tag(inputs=600, labels=9)(states)                    # [batch, time, 9]
"""

from typing import Annotated, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from regard.predict.classify import ACTIVATIONS
from regard.ranges import Dropout, WidthOrNone

__all__ = ["Tag"]


class Tag(nn.Module):
    """`W₂ act(W₁ h_i)`, token by token"""

    def __init__(
        self,
        inputs: int,
        labels: int,
        hidden: Annotated[WidthOrNone, "units of the hidden layer; 0 uses none"] = 0,
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
