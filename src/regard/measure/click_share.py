"""Simulated clicks: how often a writer would have found in the suggestions what they wrote.

Over all messages with a true reply, shown suggestions or not: the share of those with the true reply among the
suggestions (`click_share`), and of those with a suggestion of the same intent (`click_share_intent`).

ClickShare()(results)  →  {"click_share": 0.11, "click_share_intent": 0.4}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ClickShare"]


class ClickShare:
    """Share of replied messages whose true reply was among the suggestions, and of those with one of its intent."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        replied = [one for one in results.suggested if one.replied]
        if not replied:
            return {}
        return {
            "click_share": sum(one.exact for one in replied) / len(replied),
            "click_share_intent": sum(one.alike for one in replied) / len(replied),
        }
