"""NVIL: REINFORCE with a baseline that is learned from the input, and rewards divided by their standard deviation.

Mnih & Gregor 2014, "Neural Variational Inference and Learning in Belief Networks" (ICML), section 3.3: the baseline
takes away how hard the example is, without reading it twice. Unbiased, but for the scale that the division sets.

Differs from the paper: the baseline is linear in the mean of the word vectors, and the moving average takes part only
through the scale.

    Nvil(size=300).copies                                # 1: each example is read once
"""

from torch import Tensor

from regard.attend.estimator import Estimator, Gates, sampled
from regard.attend.reinforce import Reinforce

__all__ = ["Nvil"]


class Nvil(Estimator):
    """`(R − b(x)) / σ · ∂log p(z)`, with a learned baseline b(x)"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.baseline = Reinforce(size, baseline="learned", normalise=True)

    def choose(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 1) -> Gates:
        return sampled(logits, mask)

    def loss(
        self,
        score: Tensor,
        reward: Tensor,
        reinforce: Reinforce,
        *,
        entropy: Tensor,
        summary: Tensor | None = None,
        kept: Tensor | None = None,
        copies: int = 1,
    ) -> Tensor:
        found: Tensor = self.baseline(score, reward, summary, entropy=entropy, kept=kept, copies=copies)
        return found - reinforce.bonus * entropy if reinforce.bonus else found
