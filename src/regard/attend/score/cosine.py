"""Cosine: `e_i = τ · q·k_i / (‖q‖ ‖k_i‖)`, with a learned temperature τ.

Bounded by τ whatever the lengths of the vectors. Graves, Wayne & Danihelka 2014, "Neural Turing
Machines", section 3.3.1 (content-based addressing; there τ is called β).

    Attention(Cosine(query=512, key=512, temperature=10.0))
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from regard.attend.score import Score, same_size
from regard.ranges import Temperature, ranged

__all__ = ["Cosine"]

# A vector shorter than this counts as this long: the cosine of a zero vector is then 0, its gradient finite.
SHORTEST = 1e-6


class Cosine(Score):
    """`e = τ · q·k / (‖q‖‖k‖)`"""

    kernel = "dot"

    @ranged
    def __init__(
        self,
        query: int,
        key: int,
        temperature: Annotated[Temperature, "initial value of the learned factor on the cosine"] = 10.0,
    ) -> None:
        super().__init__()
        self.hidden = same_size("cosine", query, key)
        self.log_temperature = nn.Parameter(torch.tensor(temperature).log())

    def project(self, query: Float[Tensor, "*lead query dim"] | None) -> Float[Tensor, "*lead query hidden"]:
        return normalize(super().project(query), dim=-1, eps=SHORTEST) * self.log_temperature.exp()

    def prepare(self, keys: Float[Tensor, "*lead key dim"]) -> Float[Tensor, "*lead key hidden"]:
        return normalize(keys, dim=-1, eps=SHORTEST)
