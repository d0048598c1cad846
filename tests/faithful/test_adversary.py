"""Shuffled and adversarial weights, on answers made by hand: against enumeration and a fine grid."""

import math
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.faithful.adversary import adversarial, shuffled
from regard.faithful.measures import jensen_shannon
from regard.faithful.probe import Probe


def probe_of(weights: list[list[list[float]]], answer: Callable[[Tensor], Tensor], lengths: list[int]) -> Probe:
    own = torch.tensor(weights)
    mask = torch.arange(own.shape[-1]) < torch.tensor(lengths)[:, None]
    p, nothing = answer(own.unsqueeze(1)).squeeze(1), torch.zeros(len(own), own.shape[-1])
    cases = tuple(range(len(own)))
    return Probe(own, mask, p, nothing, nothing, answer, cases, "text", ("y",) * len(own), float(len(own)))


def itself(weights: Tensor) -> Tensor:
    """The answer is where it looks."""
    return weights.mean(2)


def constant(weights: Tensor) -> Tensor:
    return torch.full((*weights.shape[:2], 2), 0.5) + 0 * weights.sum((-1, -2)).unsqueeze(-1)


def halves(weights: Tensor) -> Tensor:
    """Only how much weight the first token has counts."""
    first = weights.mean(2)[..., 0]
    return torch.stack([first, 1 - first], -1)


def test_shuffles_are_orders_of_what_is_there() -> None:
    one = probe_of([[[0.6, 0.3, 0.1, 0.0]]], itself, [3])
    found = shuffled(one, 200, [[0]]).squeeze(0).numpy()
    own = np.array([0.6, 0.3, 0.1])
    every = {round(0.5 * float(np.abs(own - np.array(order)).sum()), 5) for order in permutations(own)}
    assert {round(float(tv), 5) for tv in found} == every
    # Each of the six orders as often as another: their mean is near.
    mean = np.mean([0.5 * np.abs(own - np.array(order)).sum() for order in permutations(own)])
    assert found.mean() == pytest.approx(mean, abs=0.05)


def test_a_group_is_shuffled_together() -> None:
    """Two rows whose sum is the same everywhere: in any order that is common to both, the sum stays."""
    one = probe_of([[[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]], lambda w: w.prod(2).sum(-1, keepdim=True), [3])
    assert float(shuffled(one, 50, [[0]]).max()) < 1e-6


def test_where_weights_do_not_matter_all_goes_to_the_least() -> None:
    one = probe_of([[[0.6, 0.3, 0.1]], [[1.0, 0.0, 0.0]]], constant, [3, 3])
    assert float(shuffled(one, 10, [[0], [1]]).max()) == 0
    js, tv = adversarial(one, 0.01, [[0], [1]])
    alone = float(jensen_shannon(torch.tensor([0.6, 0.3, 0.1]), torch.tensor([0.0, 0.0, 1.0])))
    assert js.tolist() == pytest.approx([alone, math.log(2)], abs=1e-5)
    assert tv.tolist() == [0.0, 0.0]


def grid(own: list[float], answer: Callable[[Tensor], Tensor], epsilon: float, n: int = 200) -> float:
    """The best of all weights in steps of 1/n."""
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    inside = i + j <= n
    b = np.stack([i[inside], j[inside], n - i[inside] - j[inside]], -1) / n
    p = answer(torch.from_numpy(b)[None, :, None]).squeeze(0).numpy()
    q = answer(torch.tensor(own, dtype=torch.float64)[None, None, None]).squeeze(0).numpy()
    fits = 0.5 * np.abs(p - q).sum(-1) <= epsilon
    return float(jensen_shannon(torch.tensor(own, dtype=torch.float64), torch.from_numpy(b))[fits].max())


@pytest.mark.parametrize("answer", [itself, halves])
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_the_search_finds_what_a_grid_finds(answer: Callable[[Tensor], Tensor], epsilon: float) -> None:
    owns = [[0.6, 0.3, 0.1], [0.1, 0.85, 0.05], [0.34, 0.33, 0.33]]
    js, tv = adversarial(probe_of([[own] for own in owns], answer, [3, 3, 3]), epsilon, [[0], [1], [2]])
    for found, own in zip(js.tolist(), owns, strict=True):
        assert found >= 0.98 * grid(own, answer, epsilon) - 1e-4
    assert float(tv.max()) <= epsilon


def test_it_keeps_to_epsilon_and_off_the_padding() -> None:
    seen: list[Tensor] = []

    def answer(weights: Tensor) -> Tensor:
        seen.append(weights.detach())
        return torch.softmax(5 * weights.mean(2), -1)

    random = torch.Generator().manual_seed(0)
    own = torch.softmax(2 * torch.randn(6, 1, 5, generator=random), -1)
    own[3:, :, 3:] = 0
    own = own / own.sum(-1, keepdim=True)
    one = probe_of(own.tolist(), answer, [5, 5, 5, 3, 3, 3])
    js, tv = adversarial(one, 0.02, [[n] for n in range(6)])
    assert float(tv.max()) <= 0.02
    assert float(js.min()) > 0
    for weights in seen:
        assert float(weights[3:, ..., 3:].abs().max()) == 0
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_neighbours_do_not_matter() -> None:
    answer = lambda w: torch.softmax(3 * w.mean(2)[..., :2], -1)  # noqa: E731
    first, second = [[0.5, 0.4, 0.1, 0.0, 0.0]], [[0.2, 0.2, 0.2, 0.2, 0.2]]
    both, alone = probe_of([first, second], answer, [3, 5]), probe_of([[first[0][:3]]], answer, [3])
    torch.testing.assert_close(shuffled(both, 20, [[7], [8]])[:1], shuffled(alone, 20, [[7]]))
    for one, other in zip(adversarial(both, 0.02, [[7], [8]]), adversarial(alone, 0.02, [[7]]), strict=True):
        torch.testing.assert_close(one[:1], other, atol=1e-3, rtol=1e-3)
