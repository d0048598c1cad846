"""Evidence: the share of attention on the sentence of a document that gives the answer.

For data whose `evidence` names these characters. Of each map of `Results.read`, the rows that attend to the document
are averaged, and the weight on tokens inside the evidence is divided by all of it. `evidence_attention` is that of the
interaction of document and question, `evidence_answer` that of the answer itself (of a pointer its last turn), and
`evidence_chance` the share of tokens inside: what even weights would give.

    Evidence()(results)  →  {"evidence_attention": 0.61, "evidence_answer": 0.99, "evidence_chance": 0.17}
"""

from typing import Any, Literal

import numpy as np

from regard.measure import Results
from regard.regions import Token

__all__ = ["Evidence", "share"]


class Evidence:
    """Share of attention on the sentence that gives the answer."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        found: dict[str, list[float]] = {}
        for example, read in zip(results.examples, results.read, strict=False):
            if not example.evidence or read.look is None:
                continue
            for name, look in (("evidence_answer", read.look), ("evidence_attention", (*read.looks, None)[0])):
                if look is not None:
                    weight, even = share(look, example.evidence)
                    found.setdefault(name, []).append(weight)
            found.setdefault("evidence_chance", []).append(even)
        return {name: float(np.mean(each)) for name, each in found.items()}


def share(look: Any, evidence: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """The share of a map's weight on the evidence, and the share of its columns there. Only columns that are tokens of
    the document count: a sentinel or the end is nowhere."""
    there = np.array([isinstance(one, Token) and 0 <= one.start < one.end for one in look.columns])
    inside = np.array([any(a <= one.start and one.end <= b for a, b in evidence) for one in look.columns]) & there
    weights = look.mean().weights.sum(0)
    whole = weights[there].sum()
    return float(weights[inside].sum() / whole) if whole > 0 else 0.0, float(inside.sum() / max(1, there.sum()))
