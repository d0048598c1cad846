"""Coverage: the share of true replies that are among those that may be suggested.

    coverage = |{m : reply(m) ∈ allowed}| / |{m : m has a reply}|

ReplyCoverage()(results)  →  {"coverage": 0.42}, or {} where no replies are suggested
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ReplyCoverage"]


class ReplyCoverage:
    """Share of true replies that are among those that may be suggested."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        replied = [one for one in results.suggested if one.replied]
        return {"coverage": sum(one.rank is not None for one in replied) / len(replied)} if replied else {}
