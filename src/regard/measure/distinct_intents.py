"""Distinct intents: how many different things the suggestions of a message say, on average.

Over the messages with suggestions; at most three are shown, so 3 is the best there can be.

DistinctIntents()(results)  →  {"distinct_intents": 2.9}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["DistinctIntents"]


class DistinctIntents:
    """Mean number of different intents among the suggestions of a message."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        shown = [one.intents for one in results.suggested if one.intents]
        return {"distinct_intents": sum(len(set(intents)) for intents in shown) / len(shown)} if shown else {}
