"""Loss: the mean −log p of the truth, in nats; where it is a distribution, the mean divergence from it.

The mean is over what the task counts: tokens for texts and tags, examples for labels and scores.

    Loss()(results)  →  {"loss": 0.41}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Loss"]


class Loss:
    """Mean negative log-likelihood per token or label, in nats"""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {"loss": results.nats / results.counted()}
