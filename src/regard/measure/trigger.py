"""Trigger: whether suggestions are shown where one could be right, and only there.

    precision = shown and wanted / shown        recall = shown and wanted / wanted        trigger = their harmonic mean

A message wants suggestions where its true reply is one that may be suggested, and its subject is not sensitive.

Trigger()(results)  →  {"trigger": 0.8, "trigger_precision": 0.75, "trigger_recall": 0.86}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Trigger"]


class Trigger:
    """F1 of showing suggestions where one could be right, with precision and recall."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        if not results.suggested:
            return {}
        shown = sum(bool(one.intents) for one in results.suggested)
        wanted = sum(one.wanted for one in results.suggested)
        both = sum(bool(one.intents) and one.wanted for one in results.suggested)
        figures = {"trigger": 2 * both / max(shown + wanted, 1), "trigger_precision": both / max(shown, 1)}
        return {**figures, "trigger_recall": both / max(wanted, 1)}
