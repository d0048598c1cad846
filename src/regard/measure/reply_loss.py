"""Reply loss: how unlikely the true replies are, by message.

    reply_loss = −Σ log p(reply | message) / messages

The sum is over the replies that the decoder learns; a message without one adds nothing. So it is defined for any
messages, unlike a mean over tokens, of which there may be none.

ReplyLoss()(results)  →  {"reply_loss": 0.41}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ReplyLoss"]


class ReplyLoss:
    """Mean negative log-likelihood of the replies that may be suggested, by message."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {"reply_loss": results.nats / max(len(results.examples), 1)}
