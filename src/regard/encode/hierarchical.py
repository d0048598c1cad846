"""Hierarchical CNN: stacked gated convolutions, with a wider view in each layer.

    h_i^0 = x_i + p_i,   h_i^l = √½ (h_i^{l−1} + A ⊙ σ(B)),   [A; B] = W^l [h_{i−k/2}^{l−1}; …; h_{i+k/2}^{l−1}] + b^l

Gehring, Auli, Grangier, Yarats & Dauphin 2017, "Convolutional Sequence to Sequence Learning", sections 3.1 (position
embeddings p), 3.2 (the layers), 3.4 (the √½) and 3.5 (how they begin); without weight normalisation. Where the input
is not as wide as the layers it is first projected, as there. Tokens beyond the last learned position share it.

Differs from the published description: the comparison behind the sentence tables names kernels of 3, which would give
2.3m parameters on SNLI. The default here is 5, as in the code released by its authors: three layers of 300 channels
have 3.2m without positions (`positions=0`), and the published 3.4m with 512. `kernel=3` follows the description.

    Hierarchical(inputs=300)(sequences).values           # [batch, time, 300]
"""

from math import sqrt
from typing import Annotated, ClassVar

import torch
from torch import nn
from torch.nn.functional import dropout, glu

from regard.encode import Encoder
from regard.encode.multi_window import everywhere
from regard.find import Spec
from regard.pool.mean import mean
from regard.ranges import Depth, Dropout, Few, LengthOrNone, Width
from regard.types import Memory, Sequences

__all__ = ["Hierarchical"]


class Hierarchical(Encoder):
    """Stacked gated convolutions with residual connections and learned positions"""

    pool: ClassVar[Spec] = "source2token"

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "channels of each layer"] = 300,
        layers: Annotated[Depth, "number of convolutional layers"] = 3,
        kernel: Annotated[Few, "width of the convolutions, in tokens"] = 5,
        positions: Annotated[
            LengthOrNone, "number of learned positions; later tokens share the last one, and 0 turns positions off"
        ] = 512,
        dropout: Annotated[Dropout, "dropout before each layer"] = 0.0,
    ) -> None:
        super().__init__()
        self.p = nn.Embedding(positions, inputs) if positions else None
        self.W_x = nn.Linear(inputs, hidden) if inputs != hidden else None
        self.W = nn.ModuleList(nn.Conv1d(hidden, 2 * hidden, kernel) for _ in range(layers))
        self.dropout = dropout
        self.size = self.summary = hidden
        self._begin(std=sqrt(4 * (1 - dropout) / (kernel * hidden)))

    def _begin(self, std: float) -> None:
        """A gate lets about half through: weights of four times the variance make up for it (section 3.5)."""
        if self.p is not None:
            nn.init.normal_(self.p.weight, std=0.1)
        for W in self.W:
            assert isinstance(W, nn.Conv1d)
            assert W.bias is not None
            nn.init.normal_(W.weight, std=std)
            nn.init.zeros_(W.bias)

    def forward(self, inputs: Sequences) -> Memory:
        h, hidden = inputs.values, ~inputs.mask.unsqueeze(-1)
        if self.p is not None:
            place = torch.arange(h.shape[1], device=h.device).clamp(max=self.p.num_embeddings - 1)
            h = h + self.p(place)
        if self.W_x is not None:
            h = self.W_x(h)
        # In every layer what stands after a sentence is made zeros, as beyond its ends: alone it gives the same.
        h, beyond = h.masked_fill(hidden, 0.0).transpose(1, 2), hidden.transpose(1, 2)
        for W in self.W:
            assert isinstance(W, nn.Conv1d)
            gated = glu(everywhere(W, dropout(h, self.dropout, self.training)), dim=1)
            h = ((h + gated) * sqrt(0.5)).masked_fill(beyond, 0.0)
        h = h.transpose(1, 2)
        return Memory(h, h, inputs.mask, mean(h, inputs.mask))
