"""Fertility: the attention that keys have received so far, `W ξ_i`, ξ_i a window of `Σ_{j'<j} α_{j'}`, in the score.

    ξ_i = [Σ_{j'<j} α_{j',i−k}, …, Σ_{j'<j} α_{j',i+k}]

Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model", section
3.3 (local fertility; also known as coverage): a word is translated into about as many words as is its habit, and
neither forgotten nor said twice.

    Attention(Additive(query=512, key=1024, hidden=256), bias=[Fertility(hidden=256)])
"""

from jaxtyping import Float
from torch import Tensor

from regard.attend.bias.markov import Markov

__all__ = ["Fertility"]


class Fertility(Markov):
    """`W ξ`: the sum of all earlier weights in a window around each key (coverage)"""

    def update(
        self, state: Float[Tensor, "batch query *head key"], weights: Float[Tensor, "batch query *head key"]
    ) -> Float[Tensor, "batch query *head key"]:
        return state + weights
