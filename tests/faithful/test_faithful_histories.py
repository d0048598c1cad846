"""Probe of a recommender: with its own weights it predicts what the network does, and importance is the network's."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.faithful.histories import probe_histories
from regard.faithful.probe import frozen
from regard.fields.history import FIRST
from regard.tasks.recommend import Recommend
from regard.types import Example, Sequences

pytestmark = pytest.mark.usefixtures("one_thread")
examples = [
    Example((text,), target, f"h.tsv:{n}")
    for n, (text, target) in enumerate([("a b c", "d"), ("b c", "e"), ("c a e", "b"), ("f", "a"), ("d f", "c")], 1)
]


def made(name: str, **options: Any) -> tuple[Recommend, Any]:
    torch.manual_seed(2)
    task = Recommend(history={"embed": {"dim": 4, "init_std": 1.0}}, network={"name": name, **options})
    task.learn(examples)
    network = task.network().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.5)
    return task, frozen(network)


@pytest.mark.parametrize(("name", "options"), [("sasrec", {"heads": 2}), ("sasrec", {"layers": 1}), ("nais", {})])
def test_it_is_the_networks_own_prediction(name: str, options: dict[str, Any]) -> None:
    task, network = made(name, **options)
    found = 0
    for probe in probe_histories(task, network, examples):
        assert_close(probe.answer(probe.weights.unsqueeze(1)).squeeze(1), probe.p)
        assert_close(probe.weights.sum(-1), torch.ones(probe.weights.shape[:2]))
        for case, row in enumerate(probe.examples):
            numbers = [task.history.numbers[one] for one in examples[row].source.split()]
            every = torch.tensor([[n for n in range(FIRST, FIRST + 6) if n not in numbers]])
            scores = network.direct(Sequences.pad([numbers]), every)[0]
            order = scores.argsort(descending=True)
            assert probe.said[case] == task.history.ids[int(every[0, order[0]]) - FIRST]
            # The candidates that are left, the best first; those that the user has had come last, without a score.
            expected = torch.softmax(scores[order], -1)
            assert_close(probe.p[case, : len(order)], expected, rtol=1e-4, atol=1e-6)
            assert not probe.p[case, len(order) :].any()
            if len(numbers) > 1:
                without = network.direct(Sequences.pad([numbers[1:]]), every[:, order])[0]
                moved = 0.5 * (torch.softmax(without, -1) - expected).abs().sum()
                assert_close(probe.leave_one_out[case, 0], moved, rtol=1e-4, atol=1e-6)
            found += 1
    assert found == len(examples)


def test_other_weights_give_another_prediction() -> None:
    for name in ("sasrec", "nais"):
        task, network = made(name)
        [probe] = probe_histories(task, network, examples[:1])
        alone = torch.zeros_like(probe.weights)
        alone[..., 0] = 1.0
        other = probe.answer(alone.unsqueeze(1)).squeeze(1)
        assert (other - probe.p).abs().max() > 1e-4
        assert probe.gradient.shape == probe.leave_one_out.shape == (1, 3)
