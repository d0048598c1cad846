"""Weights of scores: by hand, as many cases settle them, and where there are few or none."""

import math

import pytest
import torch

from regard.predict.log_linear import best_ranked, likeliest


def test_no_case_leaves_the_start() -> None:
    assert likeliest([], [], (0.5, 0.25)) == (0.5, 0.25)


def test_one_score_by_hand() -> None:
    """Of 4n cases with the scores 1 and 0, 3n take the 1: p = e^w / (e^w + 1) = 3/4, so w = log 3."""
    case = torch.tensor([[1.0], [0.0]])
    [weight] = likeliest([case] * 4_000, [0, 0, 0, 1] * 1_000, (0.0,))
    assert weight == pytest.approx(math.log(3), abs=3e-3)


def test_a_case_moves_the_start_a_little() -> None:
    """The derivative is 0: 1 − p − w = 0 with p = 1 / (1 + e^−w)."""
    [weight] = likeliest([torch.tensor([[1.0], [0.0]])], [0], (0.0,))
    assert weight == pytest.approx(1 - 1 / (1 + math.exp(-weight)), abs=1e-5)


def test_a_score_that_says_nothing_gets_no_weight() -> None:
    torch.manual_seed(1)
    cases, own = [], []
    for _ in range(600):
        scores = torch.randn(20, 2)
        cases.append(scores)
        own.append(int(torch.multinomial((2 * scores[:, 0]).softmax(0), 1)))
    useful, idle = likeliest(cases, own, (0.5, 0.5))
    assert useful == pytest.approx(2, abs=0.2)
    assert idle == pytest.approx(0, abs=0.15)


def test_what_all_candidates_share_does_not_matter() -> None:
    torch.manual_seed(1)
    cases = [torch.randn(5, 2) for _ in range(9)]
    moved = [one + 1_000 for one in cases]
    assert likeliest(moved, [0, 1, 2, 3, 4, 0, 1, 2, 3], (0.5, 0.5)) == pytest.approx(
        likeliest(cases, [0, 1, 2, 3, 4, 0, 1, 2, 3], (0.5, 0.5)), abs=1e-3
    )


def test_the_best_rank_is_chosen_and_made_as_long_as_is_likely() -> None:
    """By the first score the own candidate is always second of three, by the second first in 3 of 4 and else last."""
    cases = [torch.tensor([[1.0, 1.0], [2.0, 0.0], [0.0, 0.0]])] * 3 + [
        torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    ]
    cases, own = cases * 1_000, [0] * 4_000
    first, second = best_ranked(cases, own, [(1.0, 0.0), (0.0, 1.0)])  # 1 / 2 beside (3 + 1 / 3) / 4
    assert first == 0
    # The derivative of 3 log(e^w / (e^w + 2)) + log(1 / (1 + 2 e^w)) is 0
    p, q = math.exp(second) / (math.exp(second) + 2), 2 * math.exp(second) / (1 + 2 * math.exp(second))
    assert 3 * (1 - p) == pytest.approx(q, abs=1e-3)
    assert best_ranked(cases, own, [(1.0, 0.0), (1.0, 0.0)])[1] == 0
    assert best_ranked([], [], [(0.5, 0.25), (1.0, 1.0)]) == (0.5, 0.25)
    # Second of four, or first of four
    assert (
        best_ranked([torch.tensor([[1.0, 1.0], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])], [0], [(1.0, 0.0), (0.0, 1.0)])[0]
        == 0
    )


def test_few_cases_that_disagree_meet_halfway() -> None:
    """One case for each of two directions: samples of both are even, and take the first; the others are shared."""
    cases = [torch.tensor([[1.0, 0.0], [0.0, 1.0]])] * 2
    first, second = best_ranked(cases, [0, 1], [(1.0, 0.0), (0.0, 1.0)])
    assert first / (first + second) == pytest.approx(0.75, abs=0.1)
