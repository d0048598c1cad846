"""Do attention weights explain predictions? Measures of weights, importance and distance of predictions.

Jain & Wallace 2019, "Attention is not Explanation", sections 3 and 4. For one prediction with weights `a` over T
tokens:

    τ_b(a, g), τ_b(a, l)        do the weights rank the tokens by importance?
    TV(p, q) = ½ Σ_y |p_y − q_y|          how much a prediction changes
    JS(a, b) = ½ KL(a ‖ m) + ½ KL(b ‖ m), m = ½ (a + b);  at most ln 2:   how far weights differ

`Case` has the figures of one prediction, `summary` those of many, and `verdict` sums them up in a sentence. The rules
are in `votes`: each of the three tests counts for the weights, against them, or neither.

    tau, p = kendall([0.7, 0.2, 0.1], [3.0, 1.0, 2.0])       # 0.333, 1.0
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

__all__ = ["LEAST", "Case", "jensen_shannon", "kendall", "summary", "total_variation", "verdict", "votes"]

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the largest weight; the last bin includes both its ends
SIGNIFICANT = 0.05
LEAST = 1e-9  # a weight of 0 counts as this where a logarithm is taken

# From where on a test speaks for the weights, and up to where against them.
AGREES, DISAGREES = 0.5, 0.3  # the smaller of the two mean τ
MOVES, STAYS = 0.2, 0.05  # median total variation of shuffled weights
ALONE, REPLACED = 0.2, 0.4  # median divergence of adversarial weights: here a small one is for them


def total_variation(p: Float[Tensor, "*#lead out"], q: Float[Tensor, "*#lead out"]) -> Float[Tensor, "..."]:
    """`½ Σ |p − q|`, from 0 (the same) to 1 (nothing in common)."""
    return 0.5 * (p - q).abs().sum(-1)


def jensen_shannon(a: Float[Tensor, "*#lead key"], b: Float[Tensor, "*#lead key"]) -> Float[Tensor, "..."]:
    """`½ KL(a ‖ m) + ½ KL(b ‖ m)` in nats, from 0 to ln 2, with finite gradients where a weight is 0."""
    m = (0.5 * (a + b)).clamp(min=LEAST * LEAST)
    kl_a, kl_b = ((x * (x.clamp(min=LEAST * LEAST) / m).log()).sum(-1) for x in (a, b))
    return 0.5 * (kl_a + kl_b)


def kendall(x: Sequence[float | int] | np.ndarray, y: Sequence[float | int] | np.ndarray) -> tuple[float, float]:
    """Kendall's τ-b and its two-sided p-value; (NaN, NaN) if x or y is constant.

    τ_b = (C − D) / √((n₀ − n₁)(n₀ − n₂)), with n₀ pairs, n₁ of them tied in x and n₂ in y (Kendall 1945).
    """
    if len(x) < 2:  # SciPy says NaN too, with a warning
        return math.nan, math.nan
    from scipy.stats import kendalltau  # slow to import

    found = kendalltau(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    return float(found.statistic), float(found.pvalue)


@dataclass(frozen=True)
class Case:
    """The results of the three tests for one prediction (NaN: undefined)."""

    example: int
    where: str
    input: str  # role of the input
    word: int | None  # position in the output, where that is a text
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
            "share_above_half": float((js > math.log(2) / 2).mean()),  # half of the maximum
        },
    }
    level, said = verdict(found)
    return found | {"votes": votes(found), "verdict": said, "level": level}


def votes(found: Mapping[str, Any]) -> dict[str, int]:
    """The vote of each test: 1 for the weights as an explanation, −1 against, 0 neither.

    Weights must agree with both kinds of importance. If one is undefined everywhere (no token changes the prediction),
    it counts as a τ of 0.
    """
    tau = min(found[f"tau_{name}"]["mean"] or 0.0 for name in ("gradient", "leave_one_out"))
    tv, js = found["shuffled"]["median_tv"], found["adversarial"]["median_js"]
    return {
        "importance": (tau >= AGREES) - (tau < DISAGREES),
        "shuffled": (tv >= MOVES) - (tv < STAYS),
        "adversarial": (js <= ALONE) - (js > REPLACED),
    }


def verdict(found: Mapping[str, Any]) -> tuple[str, str]:
    """The level, and the reason in one sentence.

    strong: importance and at least one other test are for the weights, none against. weak: two more against than for.
    mixed: everything else.
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
