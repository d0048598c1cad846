"""Token accuracy: told the truth so far, how often the next token was the likeliest. Needs no search.

TokenAccuracy()(results)  →  {"token_accuracy": 0.81}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["TokenAccuracy"]


class TokenAccuracy:
    """Right or not, token by token, teacher-forced."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {"token_accuracy": results.right / results.counted()}
