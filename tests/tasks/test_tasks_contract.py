"""Every task, the day it arrives: on its own data cut small it trains, saves, loads, answers and is measured.

Nothing here names a task: a new file in `tasks/` is held to all of this.
"""

import functools
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import api
from regard.data.load import load as load_data
from regard.data.splits import Splits
from regard.find import find, names, settable
from regard.look.attention_map import AttentionMap
from regard.networks.replier import Replier
from regard.train.log import read
from regard.train.task import Ask
from tiers import sweep_but

sizes = {"train": 64, "valid": 8, "test": 8}
few: dict[str, Any] = {
    "batch_size": 16,
    "epochs": 100,
    "steps": 24,
    "validate_every": 6,
    "warmup": 4,
    "time": "",
    "device": "cpu",
}


def cut(name: str) -> Splits:
    """The task's default data, small; one that regard makes is made small if it can be."""
    kind = find("tasks", name)
    source, _, made = kind.default_data.partition(":")
    if source == "builtin" and sizes.keys() <= settable(find("data.builtin", made)).keys():
        splits = find("data.builtin", made)(**sizes).splits()
    elif source == "builtin":
        splits = load_data(kind.default_data, tuple(kind().fields.values()), kind.known)
    else:
        pytest.skip(f"{name} has no data of its own")
    assert all(splits.train[0].inputs), splits.train[0]
    return Splits(*(getattr(splits, part)[:size] for part, size in sizes.items()))


@pytest.fixture(scope="module", params=sweep_but(names("tasks"), "translate", "classify", "tag"))
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, one_thread: None
) -> Iterator[api.Trained]:
    splits = cut(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "load_data", functools.wraps(load_data)(lambda **_: splits))
        yield api.train(request.param, out=tmp_path_factory.mktemp("runs") / request.param, quiet=True, train=few)


def inputs(trained: api.Trained) -> list[tuple[str, ...]]:
    return [example.inputs for example in trained.splits.test]


def test_its_loss_falls(trained: api.Trained) -> None:
    losses = [event["loss"] for event in read(trained.model.run.folder / "log.jsonl")]
    assert len(losses) == 4
    assert all(map(math.isfinite, losses))
    assert losses[-1] < losses[0]


def test_it_keeps_the_best(trained: api.Trained) -> None:
    best, task = trained.model.task.metrics.best, trained.model.task
    values = [event["valid"][best] for event in read(trained.model.run.folder / "log.jsonl")]
    assert trained.outcome.best in values
    assert not any(task.metrics.better(value, trained.outcome.best) for value in values)


def test_it_is_measured(trained: api.Trained) -> None:
    assert trained.model.task.metrics.best in trained.test
    numbers = [value for value in trained.test.values() if not isinstance(value, str)]
    assert numbers
    assert not any(map(math.isnan, numbers))
    assert trained.model.evaluate(trained.splits.test) == trained.test


def test_it_answers_in_order_and_as_before_when_loaded(trained: api.Trained) -> None:
    texts = inputs(trained)
    loaded = api.load(trained.model.run.folder)
    before = trained.model.task.predict(trained.model.network, texts, Ask())
    after = loaded.task.predict(loaded.network, texts, Ask())
    assert len(before) == len(texts)
    assert [(one.text, one.log_prob) for one in after] == [(one.text, one.log_prob) for one in before]
    backwards = loaded.task.predict(loaded.network, texts[::-1], Ask())
    assert [one.text for one in backwards[::-1]] == [one.text for one in before]
    assert all(one.log_prob == one.log_prob for one in before)
    assert loaded.task.predict(loaded.network, [], Ask()) == []


def are_shares(attention_map: AttentionMap) -> bool:
    """Every row sums to 1 over each input. Where tokens look at each other, one may have nobody to look at."""
    parts = [
        attention_map.weights[..., a:b].sum(-1)
        for a, b in pairwise([0, *attention_map.breaks, len(attention_map.columns)])
    ]
    among = attention_map.rows == attention_map.columns
    return all((np.isclose(one, 1, atol=1e-4) | (among & np.isclose(one, 0, atol=1e-4))).all() for one in parts)


def test_its_looks_are_shares(trained: api.Trained) -> None:
    for prediction, texts in zip(
        trained.model.task.predict(trained.model.network, inputs(trained), Ask()), inputs(trained), strict=True
    ):
        # An affinity is what weights are made of, and no share of anything.
        assert all(are_shares(one) for one in prediction.looks if not one.title.startswith("affinity"))
        if prediction.look is not None:
            assert are_shares(prediction.look)
            if trained.model.task.name != "answer":  # which points into the document alone
                assert len(prediction.look.breaks) == len(texts) - 1
        else:
            assert prediction.looks == ()
    for prediction in trained.model.task.predict(trained.model.network, inputs(trained), Ask(look=False)):
        assert prediction.look is None


def test_the_loss_of_many_is_the_sum_of_each(trained: api.Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = trained.model.task, trained.model.network
    if isinstance(model, Replier):  # its matching compares each message with the replies to all others
        monkeypatch.setattr(model, "match_weight", 0.0)
    items = task.items(trained.splits.valid)

    def loss(some: list[Any]) -> tuple[float, int]:
        with torch.no_grad():
            found = model(task.collate(some))
        return float(found.total), found.count

    alone = [loss([item]) for item in items]
    total, count = loss(items)
    assert count == sum(one for _, one in alone)
    assert total == pytest.approx(sum(one for one, _ in alone), rel=1e-4)


def test_what_it_learned_comes_back(trained: api.Trained) -> None:
    twin = api.make_task(trained.model.config)
    twin.restore(trained.model.task.keep())
    assert twin.keep() == trained.model.task.keep()
    assert twin.items(trained.splits.test) == trained.model.task.items(trained.splits.test)


def test_every_preset_is_an_option(trained: api.Trained) -> None:
    kind = find("tasks", trained.model.config["task"])
    api.configure(kind.name, kind.preset)


def test_the_same_call_does_not_train_again(trained: api.Trained, tmp_path: Path) -> None:
    again = api.train(trained.model.config["task"], out=trained.model.run.folder, quiet=True, train=few)
    assert (again.outcome.step, again.outcome.per_second) == (24, 0)
    assert again.test == trained.test


@pytest.mark.parametrize("name", names("tasks"))
def test_the_preset_learns_at_a_rate_that_adam_bears(name: str) -> None:
    assert 1e-4 <= find("tasks", name).preset["train"]["lr"] <= 2e-2
