"""Several models on equal terms: every combination and seed, one table; told before trained, and gone on with."""

import json
import math
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from regard import compare as module
from regard.cli.options import parse_pairs
from regard.compare import Left, Row, Shares, compare, contest, folder_of, markdown, variants
from regard.errors import RegardError
from regard.train.lock import lock
from regard.train.log import read

tiny = [
    *(
        "encoder.hidden=4",
        "input.embed.dim=4",
        "train.steps=4",
        "train.validate_every=2",
        "train.batch_size=8",
        "train.device=cpu",
    ),
    *("train.lr=0.01", "dropout=0.0"),
]
choices = ["encoder=bigru,resan", *tiny]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty lines, of which the first word tells the label."""
    random, path = Random(1), tmp_path_factory.mktemp("data") / "lines.tsv"
    words = ["red", "blue", "old", "new", "dog", "car", "house", "boat"]
    lines = {" ".join(random.choices(words, k=random.randint(2, 5))) for _ in range(80)}
    path.write_text("".join(f"{line}\t{'colour' if line[0] in 'rb' else 'other'}\n" for line in sorted(lines)))
    return path


def here(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
    """In this process, which has all its imports already."""
    for key, (function, *given) in work.items():
        yield key, function(*given)


def asked(data: Path, some: list[str]) -> dict[str, Any]:
    return {**parse_pairs(some), "data": {"train": str(data)}}


def compared(data: Path, out: Path, pairs: list[str] = choices, **options: Any) -> tuple[list[Row], list[str]]:
    said: list[str] = []
    rows = compare("classify", pairs, parse=lambda some: asked(data, list(some)), out=out, say=said.append, **options)
    return rows, said


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row], list[str]]:
    """Two models, two seeds."""
    out = tmp_path_factory.mktemp("compare") / "all"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "in_processes", here)
        return out, *compared(data, out, seeds=2)


@pytest.mark.sweep
def test_two_at_a_time_in_processes_of_their_own(
    done: tuple[Path, list[Row], list[str]], data: Path, tmp_path: Path
) -> None:
    rows, said = compared(data, tmp_path / "out", seeds=2, jobs=2)
    assert len(said) == 8
    assert {row.name: (row.test, row.train) for row in rows} == {row.name: (row.test, row.train) for row in done[1]}
    assert all(min(row.epoch_seconds, row.test_seconds) > 0 and row.memory_mib > 50 for row in rows)


def test_everything_is_trained_once(done: tuple[Path, list[Row], list[str]]) -> None:
    out, _, said = done
    runs = sorted(path.name for path in out.iterdir() if path.is_dir())
    assert runs == ["bigru-seed1", "bigru-seed2", "resan-seed1", "resan-seed2"]
    for run in runs:
        assert [event["step"] for event in read(out / run / "log.jsonl")] == [2, 4]
        assert f"seed = {run[-1]}\n" in (out / run / "config.toml").read_text()
    assert said[0] == "training 2 models × 2 seeds = 4 trainings; then each model is timed"
    assert said[5] == "timing 2 models"
    said, costs = said[1:5], said[6:]
    assert [line[:4] for line in (*said, *costs)] == ["1/4 ", "2/4 ", "3/4 ", "4/4 ", "1/2 ", "2/2 "]
    assert [re.sub(r"[\d,.]+ (?=s|MiB)", "# ", line) for line in costs] == [
        "1/2  encoder=bigru: # s an epoch, # s for the test, # MiB",
        "2/2  encoder=resan: # s an epoch, # s for the test, # MiB",
    ]
    assert sorted(line.split("  ")[1].split(":")[0] for line in said) == [
        *("encoder=bigru seed 1", "encoder=bigru seed 2", "encoder=resan seed 1", "encoder=resan seed 2")
    ]
    assert all(": accuracy " in line for line in said)
    assert " (left " in said[0]


def test_the_table(done: tuple[Path, list[Row], list[str]]) -> None:
    out, rows, _ = done
    assert {row.name for row in rows} == {"encoder=bigru", "encoder=resan"}
    means = [sum(row.test) / 2 for row in rows]
    assert means == sorted(means, reverse=True)
    for row in rows:
        assert (row.best, len(row.train), len(row.test), len(row.measures)) == ("accuracy", 2, 2, 2)
        assert all(0 <= score <= 1 for score in (*row.train, *row.test))
        assert row.test == [measures["accuracy"] for measures in row.measures]
        assert (len(row.chosen) == 2) == (row.name == "encoder=resan")
        assert min(row.epoch_seconds, row.test_seconds) > 0
        assert row.memory_mib > 50
    assert (out / "table.md").read_text() == markdown(rows) + "\n"
    kept = json.loads((out / "table.json").read_text())
    assert (kept["task"], kept["seeds"], kept["measure"]) == ("classify", 2, "accuracy")
    assert {name: options["encoder"]["name"] for name, options in kept["options"].items()} == {
        "encoder=bigru": "bigru",
        "encoder=resan": "resan",
    }
    assert [row["name"] for row in kept["rows"]] == [row.name for row in rows]
    for row, written in zip(rows, kept["rows"], strict=True):
        assert written["intervals"]["test"]["mean"] == pytest.approx(sum(row.test) / 2)
        assert row.epochs == written["epochs"] == [pytest.approx(4 * 8 / 64, abs=0.2)] * 2
        assert row.tested == [row.held] * 2
        metric, each = row.each
        assert (metric, [sum(scores) / len(scores) for scores in each]) == ("accuracy", pytest.approx(row.test))
        assert "each" not in written
    assert [one["verdict"] for one in kept["conclusions"]] == ["none", "none"]  # half an epoch says nothing
    assert (out / "table.png").read_bytes().startswith(b"\x89PNG")


def contents(out: Path) -> dict[str, bytes]:
    """What a training leaves, of every run."""
    names = ("model.safetensors", "log.jsonl", "tokenizer.json")
    return {str(path): path.read_bytes() for name in names for path in out.glob(f"*/{name}")}


@pytest.mark.sweep
def test_what_was_trained_is_not_trained_again(
    done: tuple[Path, list[Row], list[str]], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rows, _ = done
    before = contents(out)
    (out / "table.md").unlink()
    monkeypatch.setattr(module, "in_processes", here)
    again, said = compared(data, out, seeds=2)
    assert contents(out) == before
    assert [line.split(";")[0] for line in said[:2]] == [
        "training 2 models × 2 seeds = 4 trainings, 4 of them done",
        "timing 2 models",
    ]
    assert len(said) == 4
    assert {row.name: (row.test, row.train) for row in again} == {row.name: (row.test, row.train) for row in rows}
    assert (out / "table.md").exists()


@pytest.mark.sweep
def test_stopped_and_gone_on(
    done: tuple[Path, list[Row], list[str]], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
        yield from list(here(dict(list(work.items())[:3])))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "in_processes", stopped)
    with pytest.raises(KeyboardInterrupt):
        compared(data, tmp_path / "out", seeds=2)
    assert not (tmp_path / "out" / "table.md").exists()
    before = contents(tmp_path / "out")
    assert len(before) == 9
    monkeypatch.setattr(module, "in_processes", here)
    rows, _ = compared(data, tmp_path / "out", seeds=2)
    after = contents(tmp_path / "out")
    assert len(after) == 12
    assert before.items() <= after.items()
    assert {row.name: row.test for row in rows} == {row.name: row.test for row in done[1]}  # as in one go


@pytest.mark.sweep
def test_scores_are_kept_beside_each_run(
    done: tuple[Path, list[Row], list[str]], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there under the same options, of the same files, is not even looked at; anything else is."""
    out, _, _ = done
    asked_for: list[list[str]] = []

    def counted(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
        asked_for.append(list(work))
        yield from here(work)

    monkeypatch.setattr(module, "in_processes", counted)
    compared(data, out, seeds=2)
    assert asked_for == [[], ["encoder=bigru", "encoder=resan"]]  # nothing to train; costs are of today
    (out / "bigru-seed2.json").unlink()
    kept = json.loads((out / "resan-seed1.json").read_text())
    kept["asked"]["files"][0][1] += 1
    (out / "resan-seed1.json").write_text(json.dumps(kept))
    compared(data, out, seeds=2)
    assert asked_for[2] == ["encoder=resan seed 1", "encoder=bigru seed 2"]


def test_without_costs_nothing_is_timed(
    done: tuple[Path, list[Row], list[str]], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(done[0], out)
    monkeypatch.setattr(module, "in_processes", here)
    rows, said = compared(data, out, seeds=2, costs=False)
    assert said == ["training 2 models × 2 seeds = 4 trainings, 4 of them done"]
    assert all(row.epoch_seconds is None for row in rows)
    assert "s/epoch" not in (out / "table.md").read_text()


def test_a_time_limit_is_divided(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 s for four trainings and the timings: 170 s for the trainings, of which each has 42.5, and 36 to learn."""
    limits: list[tuple[Any, ...]] = []

    def noted(work: Mapping[str, tuple[Any, ...]], jobs: int, *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
        for function, *given in work.values():
            assert function is module.trained
            limits.append((given[1]["train"]["time"], given[-1]))
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(module, "in_processes", noted)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        compare("classify", choices, parse=lambda some: asked(data, list(some)), out=tmp_path / "out", say=said.append,
                seeds=2, time="200s")  # fmt: skip
    assert limits == [("36s", pytest.approx(42.5))] * 4
    assert said == [
        "training 2 models × 2 seeds = 4 trainings, at most 36s each; then each model is timed; 3:20 in all"
    ]


def test_what_is_not_timed_when_the_time_is_up_stays_open(
    done: tuple[Path, list[Row], list[str]], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines: list[float] = []

    def one(
        work: Mapping[str, tuple[Any, ...]], jobs: int, deadline: float = 0, *how: Any, **more: Any
    ) -> Iterator[tuple[str, Any]]:
        deadlines.append(deadline - time.monotonic())
        yield next(iter(work)), {"parameters": 7, "epoch_seconds": 1.25, "test_seconds": 1.0, "memory_mib": 1.0}

    out, before, _ = done
    kinds = {name: asked(data, list(some)) for name, some in variants(choices).items()}
    said: list[str] = []
    monkeypatch.setattr(module, "in_processes", one)
    monkeypatch.setattr(module, "_trained", lambda *given: before)
    rows = contest("classify", kinds, out, 2, say=said.append, time="600s")
    assert 500 < deadlines[0] < 600
    assert said[-1] == "the time is up: 1 of 2 models are timed; repeat the command to time all of them"
    assert [row.epoch_seconds == 1.25 for row in rows].count(True) == 1


def test_shares_of_a_limit() -> None:
    """Two at a time are three rounds of five trainings."""
    assert Shares.of(math.inf, 5, 2, True) == Shares(math.inf, math.inf)
    assert Shares.of(300.0, 5, 2, True) == Shares(72.0, 85.0)
    assert Shares.of(300.0, 5, 2, False) == Shares(80.0, 95.0)
    with pytest.raises(RegardError, match=r"^10 seconds for 6 trainings; expected at least 3 seconds for each; use a"):
        Shares.of(10.0, 6, 1, True)


def test_the_time_left_is_that_of_the_work_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module.clock, "monotonic", lambda: now[0])
    left = Left(5, 20.0, jobs=2)
    assert left.seconds() == 60
    now[0] = 110
    assert left.seconds() == 50
    left.finished()
    assert left.seconds() == 40  # four more of 10 s
    now[0] = 115
    assert left.seconds() == 35
    assert math.isnan(Left(3, math.nan).seconds())


def test_a_limit_for_all_and_one_for_each(data: Path, tmp_path: Path) -> None:
    with pytest.raises(
        RegardError, match=r"^--time and train.time; expected only one of them: --time limits the whole"
    ):
        compared(data, tmp_path / "out", [*choices, "train.time=20s"], time="10m")


def test_answers_in_the_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer takes a second. A test that was cut is done in full where there is time; then comes training data."""
    now = [0.0]
    monkeypatch.setattr(module.clock, "monotonic", lambda: now[0])

    def results(examples: list[int]) -> SimpleNamespace:
        now[0] += len(examples)
        return SimpleNamespace(examples=examples)

    def answers(whole: float, tested: int = 50) -> tuple[int, int]:
        now[0] = 0.0
        model = SimpleNamespace(results=results, evaluate=lambda some: {"n": len(some)})
        splits = SimpleNamespace(test=[0] * 200, train=[0] * 900, valid=[])
        found, seen = module._answers(model, splits, SimpleNamespace(examples=[0] * tested), lambda: whole - now[0])
        return len(found.examples), seen["n"]

    assert answers(math.inf) == (200, 900)
    assert answers(150) == (50, 141)
    assert answers(60) == (50, 100)  # however little time is left
    tested, seen = answers(500)
    assert tested == 200
    assert 200 <= seen <= 300


def test_the_table_is_there_before_the_costs(
    done: tuple[Path, list[Row], list[str]], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
        for key in work:
            yield key, {"parameters": 7, "epoch_seconds": 1.25, "test_seconds": 1.0, "memory_mib": 1.0}
            raise KeyboardInterrupt

    kept, before, _ = done
    out = tmp_path / "out"
    shutil.copytree(kept, out)  # the table of the others is left as it is
    told: list[list[dict[str, Any]]] = []
    write = module.write_whole

    def written(path: Path, content: str | bytes) -> None:
        write(path, content)
        if path.name == "table.json":
            told.append(json.loads(content)["rows"])

    kinds = {name: asked(data, list(some)) for name, some in variants(choices).items()}
    monkeypatch.setattr(module, "in_processes", stopped)
    monkeypatch.setattr(module, "write_whole", written)
    with pytest.raises(KeyboardInterrupt):
        contest("classify", kinds, out, 2, say=lambda line: None)
    assert [[row["epoch_seconds"] for row in sorted(rows, key=lambda row: row["name"])] for rows in told] == [
        [None, None],
        [1.25, None],
    ]
    table = (out / "table.md").read_text()
    assert re.search(r"\| 0\.00m \| 0\.\d+ \| 1\.2 \|", table)
    assert "| – | – | – |" in table
    assert {row["name"]: row["test"] for row in told[1]} == {row.name: row.test for row in before}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["encoder=bigru,disam"], "unknown encoder 'disam'; did you mean 'disan'?"),
        (["encoder=bigru,disan", "encoder.c=3.0"], "unknown option 'encoder.c'"),
        (
            ["encoder=disan,resan", "encoder.hidden=0"],
            "encoder.hidden: got 0; expected a whole number from 1 to 65,536",
        ),
        (["encoder=resan", "encoder.soft=0.5,0.95"], "encoder.soft=0.95, encoder.policy=0.1"),
        (["encoder=bigru", "encoder.layers=1,0"], "encoder.layers: got 0; expected a whole number from 1 to 1,000"),
        (["encoder=bigru,disan", "train.stpes=3"], "unknown option 'train.stpes'"),
        (["encoder=bigru,disan", "train.seed=3"], "train.seed is set by compare; set the number of seeds with --seeds"),
        (["train.seed=1,2"], "train.seed is set by compare;"),
        (["best_metric=accuracy,loss"], "the variants have different best_metric; use one best_metric for all"),
        (["best_metric=accuracy,bleu"], "best_metric='bleu' is not one of metrics"),
        (["encoder=bigru"], "nothing to compare; expected an option with several values"),
        (["train.time=soon", "encoder=bigru,disan"], "time 'soon'"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(data: Path, tmp_path: Path, pairs: list[str], said: str) -> None:
    with pytest.raises(RegardError) as caught:
        compared(data, tmp_path / "out", pairs)
    assert str(caught.value).startswith(said)
    assert not (tmp_path / "out").exists()


def test_a_run_is_no_place_for_a_comparison(done: tuple[Path, list[Row], list[str]], data: Path) -> None:
    run = done[0] / "bigru-seed1"
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(
        RegardError, match=r"bigru-seed1 is a run; expected a folder for several runs; use another --out"
    ):
        compared(data, run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_one_comparison_at_a_time_in_a_folder(done: tuple[Path, list[Row], list[str]], data: Path) -> None:
    with lock(done[0]), pytest.raises(RegardError, match="is in use by process"):
        compared(data, done[0])


def test_data_that_cannot_be_read_too(tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text("".join(f"a {n}\t{'xy'[n % 2]}\n" for n in range(20)) + "\tx\n")
    with pytest.raises(RegardError, match=r"bad\.tsv:21: an empty text"):
        compared(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_every_combination() -> None:
    found = variants(["encoder=a, b", "dropout=0.1,0.2", "head.hidden=3", "data.train=x.de,x.en"])
    assert list(found) == [
        "encoder=a dropout=0.1",
        "encoder=a dropout=0.2",
        "encoder=b dropout=0.1",
        "encoder=b dropout=0.2",
    ]
    assert found["encoder=b dropout=0.1"] == ["head.hidden=3", "data.train=x.de,x.en", "encoder=b", "dropout=0.1"]
    assert list(variants(["encoder.windows=[3,4]", "dropout=0,1"])) == ["dropout=0", "dropout=1"]


@pytest.mark.parametrize(
    "pairs", [[], ["encoder=a"], ["encoder=a,"], ["encoder=,"], ["encoder=a,a"], ["data.train=a,b"]]
)
def test_nothing_to_compare(pairs: list[str]) -> None:
    with pytest.raises(RegardError, match=r"^nothing to compare; expected an option with several values"):
        variants(pairs)


def test_folders_are_told_apart() -> None:
    assert folder_of("encoder=disan dropout=0.1", 3) == "disan_dropout_0.1-seed3"
    names = [
        "input.embed.vectors=a/b.txt",
        "input.embed.vectors=a_b.txt",
        "input.embed.vectors=a:b.txt",
        "x" * 300,
        "x" * 301,
    ]
    folders = [folder_of(name, 1) for name in names]
    assert len(set(folders)) == 5
    assert all(len(folder) < 130 and "/" not in folder for folder in folders)
    assert folders == [folder_of(name, 1) for name in names]


@pytest.mark.parametrize(("lower", "first"), [(True, "encoder=bigru"), (False, "encoder=resan")])
def test_the_best_stands_first(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lower: bool, first: str
) -> None:
    """By the measure's own direction; what is no number is null in JSON."""

    def made(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
        (tmp_path / "out").mkdir(exist_ok=True)
        for key in work:
            if "seed" in key:
                found = {"best": "loss", "lower": lower, "test": 0.2 if "bigru" in key else 0.7}
                found |= {"epochs": 2.0, "tested": 8, "held": 8, "each": None, "chosen": None, "parameters": 1}
                yield key, {**found, "train": math.inf, "valid": math.inf, "measures": {"x": math.nan}}
            else:
                yield key, {"parameters": 1, "epoch_seconds": 1.0, "test_seconds": 1.0, "memory_mib": 1.0}

    monkeypatch.setattr(module, "in_processes", made)
    rows, _ = compared(data, tmp_path / "out", seeds=1)
    assert rows[0].name == first
    kept = json.loads((tmp_path / "out" / "table.json").read_text(), parse_constant=pytest.fail)
    assert (kept["rows"][0]["train"], kept["rows"][0]["measures"]) == ([None], [{"x": None}])
