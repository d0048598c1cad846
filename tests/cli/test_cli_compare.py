"""`regard compare`: options with several values, a line a run, the table; mistakes are one line."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import Regard

from regard import compare as module

tiny = [
    *(
        "encoder.hidden=4",
        "input.embed.dim=4",
        "train.steps=2",
        "train.validate_every=2",
        "train.batch_size=8",
        "train.device=cpu",
    ),
    *("train.lr=0.01", "dropout=0.0"),
]


def here(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
    """In this process, which has all its imports already."""
    for key, (function, *given) in work.items():
        yield key, function(*given)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.tsv"
    path.write_text("".join(f"{word} {n}\t{'ab'[n % 2]}\n" for n in range(20) for word in ("one", "two")))
    return path


def test_a_comparison(regard: Regard, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "in_processes", here)
    (tmp_path / "more.toml").write_text("[head]\nhidden = 5\n")
    words = ["compare", "classify", "encoder=bigru,disan", *tiny, "--data", lines, "--seeds", "1"]
    said = regard(*words, "--config", tmp_path / "more.toml", "-o", tmp_path / "out")
    assert (said.code, said.err) == (0, "")
    told = said.out.split("\n")
    assert told[0] == "training 2 models × 1 seed = 2 trainings; then each model is timed"
    assert told[1].startswith("1/2  encoder=bigru seed 1: accuracy 0.")
    assert told[2].startswith("2/2  encoder=disan seed 1: accuracy ")
    assert [line.split(":")[0] for line in told[3:6]] == ["timing 2 models", "1/2  encoder=bigru", "2/2  encoder=disan"]
    assert told[7].startswith("| model | parameters | epochs | s/epoch |")
    assert sorted(line.split(" | ")[0] for line in told[9:11]) == ["| encoder=bigru", "| encoder=disan"]
    assert told[-2] == f"written to {tmp_path}/out/table.md, table.json and table.png"
    assert "\n".join(told[7:-3]) + "\n" == (tmp_path / "out" / "table.md").read_text()
    assert json.loads((tmp_path / "out" / "table.json").read_text())["seeds"] == 1
    assert "hidden = 5" in (tmp_path / "out" / "bigru-seed1" / "config.toml").read_text()


def test_its_usual_place(regard: Regard, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(work: Mapping[str, tuple[Any, ...]], *how: Any, **more: Any) -> Iterator[tuple[str, Any]]:
        assert [given[4] for given in work.values()] == [f"compare/classify/{n}-seed1" for n in ("bigru", "disan")]
        raise KeyboardInterrupt
        yield

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "in_processes", none)
    said = regard("compare", "classify", "encoder=bigru,disan", *tiny, "--data", lines, "--seeds", 1)
    assert (said.code, said.err) == (130, "")
    assert said.out.split("\n")[1:] == ["stopped, saved to compare/classify; repeat the command to resume", ""]


def test_a_time_limit_for_all_of_it(
    regard: Regard, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 s without timings 95 are for trainings: 47.5 each, of which 40 are the training's own limit."""
    monkeypatch.setattr(module, "in_processes", here)
    words = ["compare", "classify", "encoder=bigru,disan", *tiny, "--data", lines, "--seeds", 1, "--no-costs"]
    said = regard(*words, "--time", "100s", "-o", tmp_path / "out")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("training 2 models × 1 seed = 2 trainings, at most 40s each; 1:40 in all\n")
    assert "s/epoch" not in said.out
    assert 'time = "40s"' in (tmp_path / "out" / "bigru-seed1" / "config.toml").read_text()
    line = regard(*words, "--time", "100s", "train.time=9s", "-o", tmp_path / "out").line()
    assert line.startswith("--time and train.time; expected only one of them")


def test_mistakes_are_one_line(regard: Regard, lines: Path, tmp_path: Path) -> None:
    words = ["--data", lines, "-o", tmp_path / "out"]
    assert regard("compare", "classify", "encoder=bigru", *words).line().startswith("nothing to compare; expected")
    assert regard("compare", "clasify", "encoder=a,b", *words).line().startswith("unknown task 'clasify'")
    assert "'disam'" in regard("compare", "classify", "encoder=bigru,disam", *words).line()
    assert (
        regard("compare", "classify", "encoder=a,b", "--seeds", 0).line()
        == "--seeds: got 0; expected a whole number from 1 to 1,000"
    )
    assert (
        regard("compare", "classify", "encoder=a,b", "--jobs", 0).line()
        == "--jobs: got 0; expected a whole number from 1 to 1,000"
    )
    assert regard("compare", "classify", "bigru,disan", *words).line().startswith("nothing to compare")
    assert regard("compare", "classify").code == 2
    line = regard("compare", "encoder=a,b", "dropout=0,1").line()
    assert line.startswith("got 'encoder=a,b' where a task was expected")
    assert not (tmp_path / "out").exists()
