"""Where the true reply stands among all that may be suggested: mean reciprocal rank, and its share in the first 3.

    mrr = mean of 1 / rank        recall_at_3 = share of ranks ≤ 3

Over the messages whose true reply may be suggested; how many these are, `reply_coverage` says. Nothing is left out of
the ranking: not what the trigger holds back, nor replies that mean the same.

ReplyRank()(results)  →  {"mrr": 0.31, "recall_at_3": 0.35}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ReplyRank"]


class ReplyRank:
    """Mean reciprocal rank of the true reply among all that may be suggested, and its share in the first 3."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        ranks = [one.rank for one in results.suggested if one.rank is not None]
        if not ranks:
            return {}
        return {
            "mrr": sum(1 / (rank + 1) for rank in ranks) / len(ranks),
            "recall_at_3": sum(rank < 3 for rank in ranks) / len(ranks),
        }
