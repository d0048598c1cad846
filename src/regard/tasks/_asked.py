"""Answers that can be asked again: under weights from outside, with the encoder's states as they are.

`Asked` is a batch of answers with the weights of the attention they were drawn from, and `answer(weights)`, the same
answers under others. Where several looks are taken side by side (heads, rows, features) they are a group. Beside them
stand two measures of how important each token was (Jain & Wallace 2019, "Attention is not Explanation", section 4.1):

    gradient   |x_t · ∂p(ŷ)/∂x_t|, x_t the token's word vector, with the weights held fixed: the slope of the answer's
               probability by the token's own place in its one-hot vector (Algorithm 1)
    leave      TV(p, p without token t): dropped before anything is encoded, so that all is looked at anew

`_probe_sentences` and `_probe_words` make them of a model.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["TOKENS", "Asked", "variation"]

TOKENS = 8_192  # of a batch of inputs, most of which lack one token


@dataclass(frozen=True)
class Asked:
    """A batch of answers `p`, what they were drawn from, and what they would be under other weights."""

    weights: Float[Tensor, "case group key"]
    mask: Bool[Tensor, "case key"]
    p: Float[Tensor, "case out"]
    gradient: Float[Tensor, "case key"]
    leave: Float[Tensor, "case key"]
    answer: Callable[[Tensor], Tensor]  # [case, many, group, key] → [case, many, out]
    examples: tuple[int, ...]  # whose each case is
    input: str  # which of the inputs was looked at
    said: tuple[str, ...]
    worth: float  # how many examples' work it is, to tell how far one is
    word: int | None = None  # which word of an output


def variation(p: Float[Tensor, "*#lead out"], q: Float[Tensor, "*#lead out"]) -> Float[Tensor, "..."]:
    """Total variation, `½ Σ |p − q|`."""
    return 0.5 * (p - q).abs().sum(-1)
