"""Chosen: the share of input tokens that an encoder selected (resan).

Chosen()(results)  →  {"chosen": 0.34, "chosen_heads": 0.4, "chosen_dependents": 0.28}, or {} where all are read
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Chosen"]


class Chosen:
    """Mean share of input tokens that the encoder selected (resan), and that of each of its policies"""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        if results.chosen is None:
            return {}
        return {"chosen": results.chosen, **{f"chosen_{name}": share for name, share in results.policies.items()}}
