"""The share of messages on sensitive subjects that got a suggestion. It should be 0.

SensitiveAnswered()(results)  →  {"sensitive_answered": 0.0}, or {} where no message is on such a subject
"""

from typing import Literal

from regard.measure import Results

__all__ = ["SensitiveAnswered"]


class SensitiveAnswered:
    """Share of messages on sensitive subjects that got a suggestion."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        some = [one for one in results.suggested if one.sensitive]
        return {"sensitive_answered": sum(bool(one.intents) for one in some) / len(some)} if some else {}
