"""Is attention an explanation: τ, total variation and divergence against hand numbers, brute force and SciPy."""

import math
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from regard.faithful.measures import Case, jensen_shannon, kendall, summary, total_variation, verdict, votes


def test_total_variation_by_hand() -> None:
    p, q = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]), torch.tensor([[0.5, 0.2, 0.3], [0.0, 0.5, 0.5]])
    torch.testing.assert_close(total_variation(p, q), torch.tensor([0.2, 1.0]))


def test_divergence_by_hand() -> None:
    a = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.3, 0.7]])
    b = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]])
    # m = (¾, ¼): ½ (½ ln ⅔ + ½ ln 2) + ½ ln 4/3
    second = 0.25 * math.log(2 / 3) + 0.25 * math.log(2) + 0.5 * math.log(4 / 3)
    torch.testing.assert_close(jensen_shannon(a, b), torch.tensor([math.log(2), second, 0.0]))
    torch.testing.assert_close(jensen_shannon(b, a), jensen_shannon(a, b))


def test_divergence_is_that_of_scipy() -> None:
    random = np.random.default_rng(0)
    a, b = random.dirichlet([0.3] * 5, 20), random.dirichlet([0.3] * 5, 20)
    found = jensen_shannon(torch.from_numpy(a), torch.from_numpy(b))
    np.testing.assert_allclose(found, jensenshannon(a, b, axis=1) ** 2, atol=1e-7)


def test_a_divergence_has_finite_gradients_at_zeros() -> None:
    b = torch.tensor([0.0, 0.0, 1.0], requires_grad=True)
    jensen_shannon(torch.tensor([0.5, 0.0, 0.5]), b).backward()
    assert b.grad is not None
    assert bool(b.grad.isfinite().all())


def brute(x: list[float], y: list[float]) -> float:
    """τ-b, pair by pair."""
    same, tied_x, tied_y, every = 0, 0, 0, 0
    for i, j in combinations(range(len(x)), 2):
        dx, dy = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
        every, tied_x, tied_y, same = every + 1, tied_x + (dx == 0), tied_y + (dy == 0), same + dx * dy
    return float(same / math.sqrt((every - tied_x) * (every - tied_y)))


def test_tau_by_hand() -> None:
    assert kendall([0.7, 0.2, 0.1], [3.0, 1.0, 2.0]) == pytest.approx((1 / 3, 1.0))
    assert kendall([1, 2, 3, 4], [1, 2, 3, 4]) == pytest.approx((1.0, 2 / 24))
    assert kendall([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx((-1.0, 2 / 24))
    # One tie: 2 of 3 pairs are apart in x, and go with y.
    assert kendall([1, 1, 2], [1, 2, 3])[0] == pytest.approx(2 / math.sqrt(2 * 3))
    assert all(map(math.isnan, kendall([1, 1, 1], [1, 2, 3])))
    assert all(map(math.isnan, kendall([1.0], [1.0])))


def test_tau_is_that_of_pairs_counted_one_by_one() -> None:
    random = np.random.default_rng(0)
    for n in range(2, 12):
        x, y = random.integers(0, 5, n).tolist(), random.integers(0, 5, n).tolist()
        if len(set(x)) > 1 and len(set(y)) > 1:
            assert kendall(x, y)[0] == pytest.approx(brute(x, y))


def test_p_is_the_share_of_all_orders() -> None:
    n, base = 5, list(range(5))
    taus = np.array([brute(base, list(order)) for order in permutations(range(n))])
    for order in ([0, 1, 2, 4, 3], [4, 1, 2, 3, 0], [2, 1, 0, 4, 3], [0, 1, 2, 3, 4]):
        tau, p = kendall(base, order)
        lower, upper = (taus <= tau + 1e-9).mean(), (taus >= tau - 1e-9).mean()
        assert p == pytest.approx(min(1.0, 2 * min(lower, upper)))


def case(**given: float) -> Case:
    values: dict[str, Any] = {
        "tau_gradient": 0.6,
        "p_gradient": 0.01,
        "tau_leave_one_out": 0.6,
        "p_leave_one_out": 0.2,
        "shuffled_tv": 0.4,
        "adversarial_js": 0.1,
        "adversarial_tv": 0.0,
        "largest": 0.6,
    }
    return Case(0, "x:1", "text", None, "yes", 3, **(values | given))


def test_a_summary_by_hand() -> None:
    cases = [
        case(tau_gradient=0.2, largest=0.25, shuffled_tv=0.1, adversarial_js=0.5),
        case(tau_gradient=0.4, p_gradient=0.05, largest=1.0, shuffled_tv=0.3),
        case(tau_gradient=math.nan, p_gradient=math.nan, largest=0.75, shuffled_tv=0.5),
    ]
    found = summary(cases, 2, 0.01, 100)
    assert (found["examples"], found["cases"]) == (2, 3)
    assert found["tau_gradient"] == pytest.approx({"mean": 0.3, "std": 0.1, "share_significant": 0.5, "undefined": 1})
    assert found["tau_leave_one_out"]["share_significant"] == 0
    assert found["shuffled"]["median_tv"] == pytest.approx(0.3)
    assert [(one["cases"], one["median_tv"]) for one in found["shuffled"]["by_largest"]] == [
        *((0, None), (1, 0.1), (0, None), (2, 0.4)),
    ]
    assert found["adversarial"]["share_above_half"] == pytest.approx(1 / 3)
    assert (found["adversarial"]["median_js"], found["adversarial"]["max_js"]) == (0.1, 0.5)


def test_what_is_undefined_everywhere_is_no_agreement() -> None:
    cases = [case(tau_leave_one_out=math.nan)]
    found = summary(cases, 1, 0.01, 100)
    assert found["tau_leave_one_out"]["mean"] is None
    assert found["votes"]["importance"] == -1
    assert "undefined leaving one out" in found["verdict"]


@pytest.mark.parametrize(
    ("tau", "tv", "js", "level"),
    [
        (0.6, 0.4, 0.1, "strong"),
        (0.6, 0.1, 0.1, "strong"),
        (0.6, 0.1, 0.3, "mixed"),
        (0.4, 0.4, 0.1, "mixed"),  # without agreement with importance nothing is strong
        (0.6, 0.4, 0.5, "mixed"),
        (0.2, 0.01, 0.3, "weak"),
        (0.2, 0.1, 0.6, "weak"),
        (0.6, 0.0, 0.6, "mixed"),
        (-0.5, 0.0, 0.69, "weak"),
    ],
)
def test_levels_follow_the_rules(tau: float, tv: float, js: float, level: str) -> None:
    one = replace(case(), tau_gradient=tau, tau_leave_one_out=tau, shuffled_tv=tv, adversarial_js=js)
    found = summary([one], 1, 0.01, 100)
    assert (found["level"], found["verdict"]) == verdict(found)
    assert found["level"] == level
    assert found["votes"] == votes(found)
    assert found["verdict"].endswith(".")
    assert "\n" not in found["verdict"]
