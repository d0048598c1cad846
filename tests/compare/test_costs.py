"""What a model costs: counted by hand, timed over all phases; of a run, or of models that were never trained."""

import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from regard import api
from regard.compare import costs
from regard.encode import Phase
from regard.encode.resan import Resan
from regard.types import Memory, Sequences

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import sentences

OPTIONS = {
    "input": {"embed": {"dim": 4}},
    "dropout": 0.0,
    "train": {"steps": 2, "validate_every": 2, "batch_size": 8, "device": "cpu", "auto": False},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random, path = Random(1), tmp_path_factory.mktemp("data") / "lines.tsv"
    lines = {" ".join(random.choices(["red", "blue", "old", "dog"], k=random.randint(2, 6))) for _ in range(80)}
    path.write_text("".join(f"{line}\t{line[0]}\n" for line in sorted(lines)))
    return path


def trained(data: Path, out: Path, encoder: str) -> Path:
    given = {"data": {"train": str(data)}, "encoder": {"name": encoder, "hidden": 4}}
    api.train("classify", out=out, quiet=True, **api.merge(OPTIONS, given))
    return out


def test_parameters_are_those_without_words(data: Path, tmp_path: Path) -> None:
    """Of a bigru of 4 → 4 each way: 2 · 3 · (4·4 + 4·4 + 2·4), its source2token 2 · (8·8 + 8), the head 8 → 300 → 4."""
    found = costs.cost(str(trained(data, tmp_path / "run", "bigru")))
    labels = len({line.split("\t")[1] for line in data.read_text().splitlines()})
    assert found["parameters"] == 6 * 40 + 2 * 72 + 8 * 300 + 300 + 301 * labels
    assert found["epoch_seconds"] > 0 < found["test_seconds"]
    assert found["memory_mib"] > 50


def test_an_epoch_is_of_all_examples_though_fewer_are_timed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that ticks once a look: 40 steps take 1 s; an epoch is as many times that as it has examples."""
    run = trained(data, tmp_path / "run", "bigru")
    ticks = iter(range(10**6))
    monkeypatch.setattr(costs.time, "perf_counter", lambda: float(next(ticks)))
    whole = costs.cost(str(run))["epoch_seconds"]
    monkeypatch.setattr(costs, "ENOUGH", 20)
    part = costs.cost(str(run))["epoch_seconds"]
    examples = len(api.load(run, trust=True).data().train)
    assert whole == pytest.approx(examples / (costs.TIMED * 8), rel=0.15)  # batches of 8, some not full
    assert part == pytest.approx(whole, rel=0.15)


def test_time_is_that_of_all_phases(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(data, tmp_path / "run", "resan")
    phases: list[str] = []
    plain = Resan.forward

    def forward(part: Resan, inputs: Sequences, phase: Phase = "both", *rest: Any) -> Memory:
        if part.training:
            phases.append(phase)
        return plain(part, inputs, phase, *rest)

    monkeypatch.setattr(Resan, "forward", forward)
    costs.cost(str(run))
    warm, timed = phases[: costs.WARM], phases[-costs.TIMED :]
    assert set(warm) == {"supervised", "policy", "both"}
    assert [timed.count(phase) for phase in ("supervised", "policy", "both")] == [20, 4, 16]  # 0.5, 0.1, 0.4 of 40


@pytest.mark.sweep
def test_a_model_that_is_no_run_is_measured_the_same(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of ticks all is as with the run, but for what the process takes."""
    model = api.load(trained(data, tmp_path / "run", "resan"), "cpu")
    found = []
    for call in (
        lambda: costs.cost(str(tmp_path / "run")),
        lambda: costs.measured(model.task, model.network, model.data(), model.config["train"]),
    ):
        ticks = iter(range(10**6))
        monkeypatch.setattr(costs.time, "perf_counter", lambda ticks=ticks: float(next(ticks)))
        found.append({key: value for key, value in call().items() if key != "memory_mib"})
    assert found[0] == found[1]
    assert found[0]["test_seconds"] == 1.0  # the test set is gone through once on the clock


@pytest.mark.sweep
def test_a_test_set_is_timed_once_all_its_lengths_were_met(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch takes 1 s, and 100 the first time its length is met, as where a kernel is compiled for it."""
    model = api.load(trained(data, tmp_path / "run", "bigru"), "cpu")
    splits = model.data()
    examples = sorted(splits.train, key=lambda one: len(one.inputs[0].split()))
    held = [examples[0]] * 1000 + [examples[-1]]  # of two lengths, the other one last
    now, met, plain = [0.0], set[int](), model.task.collate

    def collate(items: Any) -> Any:
        batch = plain(items)
        if not model.network.training:
            length = batch.source.values.shape[1]
            now[0] += 1.0 if length in met else 100.0
            met.add(length)
        return batch

    monkeypatch.setattr(model.task, "collate", collate)
    monkeypatch.setattr(costs.time, "perf_counter", lambda: now[0])
    found = costs.measured(model.task, model.network, replace(splits, test=held), model.config["train"])
    assert found["test_seconds"] == 1.0


class Kept:
    """What `record` was given, as it was then, and what was measured."""

    def __init__(self) -> None:
        self.rows: list[list[dict[str, Any]]] = []
        self.networks: list[Any] = []
        self.trains: list[dict[str, Any]] = []
        self.read = 0


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    kept, plain, read = Kept(), sentences.measured, api.read

    def counted(task: Any, config: Any) -> Any:
        kept.read += 1
        return read(task, config)

    def watched(task: Any, network: Any, splits: Any, train: Any) -> dict[str, Any]:
        kept.networks.append(deepcopy(network))
        kept.trains.append(dict(train))
        return plain(task, network, splits, train)

    monkeypatch.setattr(sentences, "record", lambda name, figures: kept.rows.append(deepcopy(figures["rows"])))
    monkeypatch.setattr(sentences, "measured", watched)
    monkeypatch.setattr(api, "read", counted)
    monkeypatch.setattr(costs, "WARM", 1)
    monkeypatch.setattr(costs, "TIMED", 2)
    return kept


@pytest.mark.parametrize("mode", ["fixed", "tuned", "missing"])
def test_costs_of_a_table_are_of_the_models_it_would_train(
    mode: str, data: Path, tmp_path: Path, kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data is read once, for all; every network is the one a training would begin with, words included."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {i}.5 1 2 3\n" for i, word in enumerate(("red", "dog", "cat"))))
    embed = {"vectors": str(vectors), "mode": mode}
    shared = {
        "data": {"train": str(data)},
        "input": {"embed": embed},
        "train": {"batch_tokens": 0, "device": "cpu", "auto": False},
    }
    names = {"bigru": 4, "multi_head": 8, "resan": 16}
    sizes = {"bigru": {"hidden": 4}, "multi_head": {"heads": 2, "size": 2}, "resan": {"hidden": 4}}
    recipes = {
        name: api.merge(shared, {"encoder": {"name": name, **sizes[name]}, "train": {"batch_size": rows}})
        for name, rows in names.items()
    }
    sentences.costs("classify", {name: {"a": one, "b": {"no": "such"}} for name, one in recipes.items()}, "x")
    assert kept.read == 1
    for network, options in zip(kept.networks, recipes.values(), strict=True):
        mine, theirs = network.state_dict(), api.prepare("classify", options).network.state_dict()
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in theirs)
    assert [train["batch_size"] for train in kept.trains] == list(names.values())
    last = kept.rows[-1]
    assert [[row["name"] for row in rows] for rows in kept.rows] == [list(names)[: n + 1] for n in range(3)]
    assert [[row["epoch_ratio"] is None for row in rows] for rows in kept.rows] == [[True], [False] * 2, [False] * 3]
    for row, network in zip(last, kept.networks, strict=True):
        assert row["epoch_ratio"] == pytest.approx(row["epoch_seconds"] / last[1]["epoch_seconds"], abs=0.006)
        assert row["parameters"] == costs.parameters(network)
        assert row["memory_mib"] is None  # on a CPU it would be that of the largest before
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"{number}/3  {name}" for number, name in enumerate(names, 1)
    ]


def test_costs_are_not_taken_on_words_of_another_model(data: Path, kept: Kept) -> None:
    shared = api.merge(OPTIONS, {"data": {"train": str(data)}, "encoder": {"name": "bigru", "hidden": 4}})
    other = api.merge(shared, {"input": {"embed": {"dim": 8}}})
    with pytest.raises(ValueError, match="other has data or words of its own"):
        sentences.costs("classify", {"one": {"": shared}, "other": {"": other}}, "x")
    assert not kept.networks  # it is told before anything is measured
