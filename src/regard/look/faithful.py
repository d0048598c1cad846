"""Is attention an explanation? Measures of weights, of what mattered, and of how far two answers lie apart.

Jain & Wallace 2019, "Attention is not Explanation", sections 3 and 4. For one answer with weights `a` over T tokens:

    τ_b(a, g), τ_b(a, l)        do the weights order the tokens as their importance does?
    TV(p, q) = ½ Σ_y |p_y − q_y|          how far an answer moves
    JS(a, b) = ½ KL(a ‖ m) + ½ KL(b ‖ m), m = ½ (a + b);  at most ln 2:   how far weights differ

`Case` holds the figures of one answer, `summary` those of many, and `verdict` says in a sentence what they come to. The
rules are in `votes`: each of the three tests speaks for the weights, against them, or not at all.

    tau, p = kendall([0.7, 0.2, 0.1], [3.0, 1.0, 2.0])       # 0.333, 1.0
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

__all__ = ["Case", "jensen_shannon", "kendall", "summary", "total_variation", "verdict", "votes"]

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the largest weight; the last bin has both its ends
SIGNIFICANT = 0.05

# From where on a test speaks for the weights, and up to where against them.
AGREES, DISAGREES = 0.5, 0.3  # the smaller of the two mean τ
MOVES, STAYS = 0.2, 0.05  # median total variation of shuffled weights
ALONE, REPLACED = 0.2, 0.4  # median divergence of adversarial weights: here little is for them


def total_variation(p: Float[np.ndarray, "*lead out"], q: Float[np.ndarray, "*lead out"]) -> Float[np.ndarray, "*lead"]:
    """`½ Σ |p − q|`, from 0 (the same) to 1 (nothing in common)."""
    return np.asarray(0.5 * np.abs(p - q).sum(-1))


def jensen_shannon(a: Float[np.ndarray, "*lead key"], b: Float[np.ndarray, "*lead key"]) -> Float[np.ndarray, "*lead"]:
    """`½ KL(a ‖ m) + ½ KL(b ‖ m)` in nats, from 0 to ln 2; a weight of 0 adds nothing."""
    m = 0.5 * (a + b)

    def kl(x: np.ndarray) -> np.ndarray:
        there = x > 0
        ratio = np.divide(x, m, out=np.ones_like(m), where=there)
        return np.asarray((x * np.log(ratio, out=np.zeros_like(m), where=there)).sum(-1))

    return np.asarray(np.clip(0.5 * kl(a) + 0.5 * kl(b), 0.0, math.log(2)))


def kendall(x: Sequence[float | int] | np.ndarray, y: Sequence[float | int] | np.ndarray) -> tuple[float, float]:
    """Kendall's τ-b and its two-sided p under no association; (NaN, NaN) where one of them is the same everywhere.

    τ_b = (C − D) / √((n₀ − n₁)(n₀ − n₂)), with n₀ pairs, of which n₁ are tied in x and n₂ in y (Kendall 1945).
    """
    if len(x) < 2:  # SciPy says NaN too, with a warning
        return math.nan, math.nan
    from scipy.stats import kendalltau  # slow to import

    found = kendalltau(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    return float(found.statistic), float(found.pvalue)


@dataclass(frozen=True)
class Case:
    """What the three tests said of one answer (NaN: not defined), and whose it is."""

    example: int
    where: str
    input: str  # which of the inputs was looked at
    word: int | None  # which word of the output, where there are several
    said: str
    tokens: int
    largest: float
    tau_gradient: float
    p_gradient: float
    tau_leave_one_out: float
    p_leave_one_out: float
    shuffled_tv: float
    adversarial_js: float
    adversarial_tv: float


def _column(cases: Sequence[Case], name: str) -> np.ndarray:
    return np.array([getattr(case, name) for case in cases], dtype=np.float64)


def _taus(cases: Sequence[Case], name: str) -> dict[str, Any]:
    tau, p = _column(cases, f"tau_{name}"), _column(cases, f"p_{name}")
    there = ~np.isnan(tau)
    if not there.any():
        return {"mean": None, "std": None, "share_significant": None, "undefined": len(cases)}
    return {
        "mean": float(tau[there].mean()),
        "std": float(tau[there].std()),
        "share_significant": float((p[there] < SIGNIFICANT).mean()),
        "undefined": int((~there).sum()),
    }


def summary(cases: Sequence[Case], examples: int, epsilon: float, shuffles: int) -> dict[str, Any]:
    """Figures over all cases, with the verdict."""
    tv, js, largest = (_column(cases, name) for name in ("shuffled_tv", "adversarial_js", "largest"))
    bins = []
    for low, high in pairwise(EDGES):
        inside = (largest >= low) & ((largest < high) | (high == EDGES[-1]))
        median = float(np.median(tv[inside])) if inside.any() else None
        bins.append({"from": low, "to": high, "cases": int(inside.sum()), "median_tv": median})
    found: dict[str, Any] = {
        "examples": examples,
        "cases": len(cases),
        "tau_gradient": _taus(cases, "gradient"),
        "tau_leave_one_out": _taus(cases, "leave_one_out"),
        "shuffled": {"shuffles": shuffles, "median_tv": float(np.median(tv)), "by_largest": bins},
        "adversarial": {
            "epsilon": epsilon,
            "median_js": float(np.median(js)),
            "lower_js": float(np.quantile(js, 0.25)),
            "upper_js": float(np.quantile(js, 0.75)),
            "max_js": float(js.max()),
            "share_above_half": float((js > math.log(2) / 2).mean()),  # half of what is possible
        },
    }
    level, said = verdict(found)
    return found | {"votes": votes(found), "verdict": said, "level": level}


def votes(found: Mapping[str, Any]) -> dict[str, int]:
    """What each test says of the weights as an explanation: 1 for it, −1 against it, 0 neither.

    Weights must agree with both kinds of importance. One that is undefined everywhere (the answer is the same whatever
    is left out) counts as a τ of 0.
    """
    tau = min(found[f"tau_{name}"]["mean"] or 0.0 for name in ("gradient", "leave_one_out"))
    tv, js = found["shuffled"]["median_tv"], found["adversarial"]["median_js"]
    return {
        "importance": (tau >= AGREES) - (tau < DISAGREES),
        "shuffled": (tv >= MOVES) - (tv < STAYS),
        "adversarial": (js <= ALONE) - (js > REPLACED),
    }


def verdict(found: Mapping[str, Any]) -> tuple[str, str]:
    """The level, and what it rests on in one sentence.

    strong: importance and one other test or more are for the weights, and none is against them. weak: two more are
    against them than for them. mixed: all else.
    """
    each = votes(found)
    total = sum(each.values())
    strong = each["importance"] == 1 and total >= 2 and -1 not in each.values()
    level = "strong" if strong else "weak" if total <= -2 else "mixed"

    def tau(name: str) -> str:
        mean = found[f"tau_{name}"]["mean"]
        return "undefined" if mean is None else f"{mean:.2f}"

    tv, js = found["shuffled"]["median_tv"], found["adversarial"]["median_js"]
    agree = {1: "agree", 0: "agree in part", -1: "hardly agree"}[each["importance"]]
    moved = {1: "changes the answer", 0: "changes it a little", -1: "hardly changes it"}[each["shuffled"]]
    other = {1: "no very", 0: "somewhat", -1: "very"}[each["adversarial"]]
    opening = {
        "strong": "The weights may be read as an explanation",
        "mixed": "The weights explain the answers only in part",
        "weak": "The weights should not be read as an explanation",
    }[level]
    return level, (
        f"{opening}: they {agree} with what mattered (τ {tau('gradient')} with gradients, {tau('leave_one_out')} "
        f"leaving one out), shuffling them {moved} (median TV {tv:.2f}), and {other} different weights were "
        f"found that give the same answer (median JS {js:.2f} of at most {math.log(2):.2f})."
    )
