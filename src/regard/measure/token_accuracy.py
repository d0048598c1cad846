"""Token accuracy: how often the most likely next token is correct, teacher-forced. Needs no search.

TokenAccuracy()(results)  →  {"token_accuracy": 0.81}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["TokenAccuracy"]


class TokenAccuracy:
    """Share of target tokens predicted correctly, teacher-forced."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {"token_accuracy": results.right / results.counted()}
