"""Recorded passes: the same numbers as without, for every batch of a shape; and what cannot be recorded runs as usual.

On a CPU a recorder that runs the work again, into the same tensors, stands in for CUDA graphs.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from regard.networks.both import Both
from regard.tasks.caption import Caption
from regard.tasks.glimpse import Glimpse
from regard.train.graphs import SEEN, Graphs, Made
from regard.train.step import step
from regard.types import Batch, Network, Output, Sequences
from small_pictures import captions, small_image

small: dict[str, Any] = {
    "image": {**small_image, "embed": {"dim": 8, "blocks": 2}},
    "decoder": {
        "name": "recurrent",
        "cell": "lstm",
        "embed": 4,
        "hidden": 8,
        "dropout": 0.0,
        "gate": True,
        "output": "deep",
        "init_cell": True,
    },
    "attention": {"score": {"name": "additive", "hidden": 4}},
}


class Again:
    """Makes what was made again, in the same place, as a graph does."""

    def __init__(self, model: Network) -> None:
        self.model, self.recorded, self.replayed = model, 0, 0

    def __call__(self, work: Callable[[], Made]) -> tuple[Made, Callable[[], None]]:
        self.recorded += 1
        made = work()

        def replay() -> None:
            self.replayed += 1
            for parameter in self.model.parameters():
                parameter.grad = None
            for place, number in zip(tree_leaves(made), tree_leaves(work()), strict=True):
                place.copy_(number)

        return made, replay


def trained(graphs: bool, rounds: int, **options: Any) -> tuple[dict[str, Any], list[float], Again]:
    """The weights after some steps over two shapes of batches in turn, and the losses."""
    torch.manual_seed(1)
    task = Caption(**{**small, **options})
    task.learn(captions)
    model = task.network().train()
    # Nothing is drawn and nothing remembered from batch to batch, so that a pass more or less changes nothing.
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = 0.0
    items = sorted(task.items(captions), key=lambda one: one.lengths[-1])
    pieces = [task.collate(items[:3]), task.collate(items[-3:]), task.collate(items[-4:-1])]
    optimiser, again = torch.optim.SGD(model.parameters(), 0.1), Again(model)
    recorded = Graphs(model, record=again) if graphs else None
    losses = [
        step(model, one, optimiser, 0.5, clip=1.0, precision="float32", graphs=recorded).total.item()
        for _ in range(rounds)
        for one in pieces
    ]
    return {k: v for k, v in model.state_dict().items() if "num_batches" not in k}, losses, again


def test_a_replay_learns_what_a_step_learns() -> None:
    """Batches of one shape with other captions, other lengths and so another count."""
    wanted, losses, _ = trained(False, 6)
    found, same, again = trained(True, 6)
    assert again.recorded >= 1
    assert again.replayed >= 6
    assert same == pytest.approx(losses, rel=1e-5)
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, msg=name)


def test_a_shape_is_recorded_when_it_has_come_some_times() -> None:
    _, _, again = trained(True, 1)
    assert again.recorded == 0 if SEEN >= 3 else again.recorded


def test_who_is_steady() -> None:
    """Captions with soft attention from the start, with hard attention once its baseline has begun; glimpses too. A
    Transformer, a decoder that is shown its own words, and two directions that agree, never."""

    def steady(progress: float = 0.5, started: bool = True, **options: Any) -> bool:
        task = Caption(**{**small, **options})
        task.learn(captions)
        network = task.network()
        if network.reinforce is not None:
            network.reinforce.sure = started
        return network.steady(progress)

    sampled = {"score": {"name": "additive", "hidden": 4}, "normalizer": "sample"}
    assert steady()
    assert steady(attention=sampled)
    assert not steady(attention=sampled, started=False)
    assert steady(attention=sampled, reinforce={"anneal": 0.6})
    assert not steady(attention={"score": {"name": "additive", "hidden": 4}, "bias": ("markov",)})
    assert not steady(teach={"scheduled_sampling": "linear"})
    assert not steady(
        decoder={"name": "transformer", "size": 8, "heads": 1, "ffn": 8, "layers": 1}, attention={"score": "scaled_dot"}
    )
    task = Caption(**small)
    task.learn(captions)
    assert not Both(task.network(), task.network()).steady(0.5)
    glimpse = Glimpse(input={"size": 8}, network={"size": 2, "hidden": 4, "seen": 4})
    glimpse.target.fit(["1", "2"])
    assert glimpse.network().steady(0.0)


def test_a_replay_knows_how_far_the_training_is() -> None:
    """Hard attention begins soft: each replay draws with the chance of its own moment, not with that of the recording.
    Of many sentences half keep their draws at 0.25 of the training (chance 1 − 0.25 / 0.5), all of them after 0.5."""
    torch.manual_seed(1)
    sampled = {"score": {"name": "additive", "hidden": 4}, "normalizer": "sample"}
    task = Caption(**{**small, "attention": sampled, "reinforce": {"expected": 0.0, "anneal": 0.5}})
    task.learn(captions)
    model = task.network().train()
    assert model.reinforce is not None
    model.reinforce.started.fill_(True)
    model.reinforce.sure = True
    batch, again = task.collate(task.items(captions[:1] * 400)), Again(model)
    graphs, optimiser, shares = Graphs(model, record=again), torch.optim.SGD(model.parameters(), 0.0), list[float]()

    def noted(_: Any, given: Any, named: dict[str, Any]) -> None:
        shares.append(float(named["kept"].float().mean()))

    model.reinforce.register_forward_pre_hook(noted, with_kwargs=True)
    for progress in (*[0.0] * (SEEN + 1), 0.25, 0.5):
        step(model, batch, optimiser, progress, clip=0.0, precision="float32", graphs=graphs)
    assert again.recorded == 1
    assert shares[-3:] == [0.0, pytest.approx(0.5, abs=0.1), 1.0]


class Waiting(Network):
    """Says that it is steady, and is not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def steady(self, progress: float) -> bool:
        return True

    def count(self, batch: Batch) -> int:
        return 2

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        return Output((self.weight * batch.source.values).sum(), 2)


def test_what_cannot_be_recorded_runs_as_usual() -> None:
    def refuse(work: Callable[[], Made]) -> tuple[Made, Callable[[], None]]:
        work()
        raise RuntimeError("operation not permitted when stream is capturing\nmore of it")

    model, told = Waiting(), list[str]()
    graphs = Graphs(model, told.append, refuse)
    optimiser = torch.optim.SGD(model.parameters(), 1.0)
    for number in range(SEEN + 3):
        step(model, Batch((Sequences.pad([[1, 3]]),)), optimiser, 0.5, clip=0.0, precision="float32", graphs=graphs)
        assert model.weight.item() == 1 - 2 * (number + 1)  # each step once
    assert told == ["training without CUDA graphs (operation not permitted when stream is capturing)"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("normalizer", ["softmax", "sample"])
def test_on_a_gpu(normalizer: str) -> None:
    """Real graphs: weights as without, and for drawn keys at least recorded, with draws that differ."""
    task = Caption(**{**small, "attention": {**small["attention"], "normalizer": normalizer}})
    task.learn(captions)
    items = task.items(captions)
    ends, kept = list[dict[str, Any]](), 0
    for graphs in (False, True):
        torch.manual_seed(1)
        model = task.network().cuda().train()
        optimiser, warned = torch.optim.SGD(model.parameters(), 0.1), list[str]()
        recorded = Graphs(model, warned.append) if graphs else None
        rewards = []
        for _ in range(12):
            batch = task.collate(items).to("cuda")
            out = step(model, batch, optimiser, 0.5, clip=1.0, precision="float32", graphs=recorded)
            rewards.append(float(out.notes.get("reward", out.total.detach())))
        assert warned == []
        assert len(set(rewards)) == 12
        ends.append(model.state_dict())
        kept = len(recorded.kept) if recorded is not None else 0
    assert kept == 1
    if normalizer == "softmax":
        for name, value in ends[0].items():
            torch.testing.assert_close(ends[1][name], value, rtol=1e-4, atol=1e-5)
