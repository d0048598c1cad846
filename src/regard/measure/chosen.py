"""Chosen: the share of input tokens that an encoder selected (resan).

Chosen()(results)  →  {"chosen": 0.34}, or {} where no tokens were chosen from
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Chosen"]


class Chosen:
    """Mean share of input tokens that the encoder selected (resan)"""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {} if results.chosen is None else {"chosen": results.chosen}
