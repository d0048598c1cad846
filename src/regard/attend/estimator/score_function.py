"""Score function: REINFORCE, `(R − b) ∂log p(z)`; the baseline b and everything else are the options of `reinforce`.

Williams 1992, section 4. With `reinforce.baseline=others` each example is read `reinforce.samples` times, and b is the
mean reward of the others (leave-one-out; Kool et al. 2019). Unbiased. Every token is given the reward of the whole
sentence, so the estimate is noisy where a token is worth little.

    ScoreFunction(samples=2).draw(logits, mask, sides=1, copies=2)
"""

from torch import Tensor

from regard.attend.estimator import Estimator, Gates, sampled
from regard.attend.reinforce import Reinforce

__all__ = ["ScoreFunction"]


class ScoreFunction(Estimator):
    """`(R − b) ∂log p(z)` (REINFORCE), with the options of `reinforce`"""

    def __init__(self, samples: int) -> None:
        super().__init__()
        self.copies = samples

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
        found: Tensor = reinforce(score, reward, summary, entropy=entropy, kept=kept, copies=copies)
        return found
