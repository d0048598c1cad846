"""Chosen: the share of the input's tokens that a choosing encoder kept; the fewer, the less there is to work on.

Chosen()(results)  →  {"chosen": 0.34}, or {} where no tokens were chosen from
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Chosen"]


class Chosen:
    """The mean share of tokens chosen"""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {} if results.chosen is None else {"chosen": results.chosen}
