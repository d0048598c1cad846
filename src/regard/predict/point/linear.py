"""Linear pointer: two scores for each position, `s_t = wᵀ u_t + b` for the start and for the end.

Linear(inputs=400)(values, mask).start                 # [batch, 1, time]
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.predict.point import Point, Pointed, hidden
from regard.types import wide

__all__ = ["Linear"]


class Linear(Point):
    """`s_t = wᵀ u_t + b`, for the start and for the end"""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.W = nn.Linear(inputs, 2)

    def forward(self, values: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]) -> Pointed:
        with torch.autocast(values.device.type, enabled=False):  # scores in half precision would tie
            each = self.W(wide(values))
        start, end = (hidden(scores, mask) for scores in each.unbind(-1))
        path = torch.stack([start.argmax(-1), end.argmax(-1)], -1)
        return Pointed(start.unsqueeze(1), end.unsqueeze(1), path.unsqueeze(1))
