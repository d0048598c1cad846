"""`regard train`: trains, goes on, begins again; every mistake is one line and harms nothing."""

import errno
import os
import re
import shlex
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import Regard, contents, tiny

from regard.train.log import Log, read
from tiers import sweep_but


def test_without_a_task_the_tasks_are_listed(regard: Regard) -> None:
    said = regard("train")
    assert said.code == 2
    assert "Usage: regard train" in said.out
    assert "\n  translate  " in said.out


@pytest.mark.parametrize("doubts", [[], ["it answers everything alike"]])
def test_the_ending(regard: Regard, run: Path, pairs: Path, doubts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished run says so, and shows score, alignment, place and what to try; nothing goes to stderr. One that has
    not learned says that instead of where it looks."""
    monkeypatch.setattr("regard.api.doubts_of", lambda *_: doubts)
    before = contents(run)
    said = regard("train", "translate", "--data", pairs, "--out", run, "--quiet", *tiny)
    assert (said.code, said.err) == (0, "")
    lines = said.out.split("\n")
    assert lines[:2] == [
        "this run is already finished, at step 30",
        f"to train longer: regard train translate --out {run} train.steps=60",
    ]
    assert lines[2].startswith("test set, ")
    assert "token_accuracy" in lines[2]
    assert any(line.split()[:1] == ["exact_match"] for line in lines)
    assert ("█" in said.out) is not bool(doubts)
    assert ("This model has not learned enough:\n  - it answers everything alike\n" in said.out) is bool(doubts)
    shown = next(line for line in lines if " → " in line)
    source = shown.split(" → ")[0]
    assert lines[-5:] == [
        f"Saved to {run}. Try next:",
        f"  regard predict {run} --text {source}",
        f"  regard look {run} -o look.html {source}",
        f"  regard evaluate {run}",
        "",
    ]
    after = contents(run)
    assert {name for name in after if before.get(name) != after[name]} <= {"card.md", "curve.png"}


def test_the_ending_of_a_language_model(regard: Regard, tmp_path: Path) -> None:
    """Text alone has no truth to be told, and what is shown is gone on from its first words."""
    data, folder = tmp_path / "book.txt", tmp_path / "run"
    data.write_text("".join(f"{a} and {b} went home again\n" for a in "abcdef" for b in "ghij"))
    options = (
        "text.tokenizer=word",
        "network.hidden=8",
        "network.layers=1",
        "train.steps=3",
        "window=20",
        "text.max_length=9",
    )
    said = regard("train", "language", "--data", data, "--out", folder, "--quiet", *options)
    assert (said.code, said.err) == (0, "")
    shown = next(line for line in said.out.split("\n") if " → " in line)
    begun, answer = shown.split(" → ")
    assert begun.split()[1:2] == ["and"]
    assert len(begun.split()) == 3
    assert answer.startswith(begun)
    assert "true:" not in shown
    said = regard("predict", folder, "--prefix", "went home", stdin=b"a and g\n")
    assert said.out.startswith("a and g went home")
    (tmp_path / "allowed.txt").write_text("went home\nagain\n")
    said = regard("predict", folder, "--allowed", tmp_path / "allowed.txt", stdin=b"a and g\n")
    assert said.out in ("a and g went home\n", "a and g again\n")
    assert "'x' is not in the target vocabulary" in regard("predict", folder, "--prefix", "x", stdin=b"a\n").line()


@pytest.mark.sweep
def test_the_ending_tells_of_all_runs(regard: Regard, pairs: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = regard(
        "train", "agree", "--data", pairs, "--out", run, "--quiet", *tiny, "train.steps=2", "train.validate_every=2"
    )
    assert f"Saved to {run}, with separate runs in {run}/there and {run}/back. Try next:" in said.out
    assert regard("evaluate", run / "back").code == 0


@pytest.mark.parametrize("number", sweep_but([signal.SIGINT, signal.SIGTERM], signal.SIGINT))
def test_stopped_and_taken_up_again(
    regard: Regard, pairs: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    add = Log.add

    def stopping(self: Log, step: int, **event: Any) -> None:
        add(self, step, **event)
        if step == 15:
            signal.raise_signal(number)

    folder = tmp_path / "a run"
    words = ["train", "translate", "--data", str(pairs), "--out", str(folder), *tiny]
    with monkeypatch.context() as patch:
        patch.setattr(Log, "add", stopping)
        said = regard(*words, "--fresh")
    assert said.code == 128 + number
    assert said.out.count("\n") == 1
    assert said.out.startswith(f"stopped at step 15 by {signal.Signals(number).name}, saved to {folder}; ")
    again = said.out.rstrip("\n").split("resume with: ")[1]
    assert shlex.split(again) == ["regard", *words]  # without --fresh, which would begin again
    if number == signal.SIGTERM:
        return  # it goes on in the same way
    said = regard(*shlex.split(again)[1:])
    assert said.code == 0
    assert "resuming at step 15 of 30" in said.err
    assert [event["step"] for event in read(folder / "log.jsonl")] == [15, 30]
    assert (folder / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


@pytest.mark.sweep
def test_another_wish_for_the_same_run(regard: Regard, run: Path, pairs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    words = [
        "train",
        "translate",
        "--data",
        pairs,
        "--out",
        folder,
        "--quiet",
        *tiny,
        "train.lr=0.5",
        "train.steps=1",
    ]
    before = contents(folder)
    line = regard(*words).line()
    assert "was started with train.lr=0.02, not 0.5" in line
    assert "--fresh" in line
    assert contents(folder) == before
    assert regard(*words, "--fresh").code == 0
    assert [event["step"] for event in read(folder / "log.jsonl")] == [1]


def test_a_run_goes_on_by_its_folder_alone(regard: Regard, run: Path, tmp_path: Path) -> None:
    """As the finished run says: with what it holds, and without its task."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    said = regard("train", "--out", folder, "--quiet")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("this run is already finished, at step 30\n")
    said = regard("train", "--out", folder, "--quiet", "train.steps=32")
    assert (said.code, said.err) == (0, "")
    assert "already finished" not in said.out
    assert read(folder / "log.jsonl")[-1]["step"] == 32
    old, new = ((path / "config.toml").read_text() for path in (run, folder))
    assert new == old.replace("steps = 30", "steps = 32")
    line = regard("train", "--out", folder, "--quiet", "train.lr=0.5").line()
    assert f"{folder} was started with train.lr=0.02, not 0.5" in line


@pytest.mark.sweep
def test_a_runs_own_config_is_a_config(regard: Regard, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    said = regard("train", "translate", "--config", run / "config.toml", "--out", folder, "--quiet", "train.steps=1")
    assert said.code == 0, said.err
    old, new = ((path / "config.toml").read_text() for path in (run, folder))
    assert new == old.replace("steps = 30", "steps = 1")


def test_a_dry_run_shows_all_and_writes_nothing(
    regard: Regard, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = regard("train", "translate", "--data", pairs, "--out", "never", "--dry-run", *tiny, "encoder.cell=lstm")
    assert (said.code, said.err) == (0, "")
    assert "encoder: Recurrent" in said.out
    assert "score: Additive 800" in said.out  # W_q 16·16 + 16, W_k 32·16, w 16
    assert re.search(r"\n  encoder\.cell +lstm +\(default gru\)\n", said.out)
    assert "data.train" not in said.out
    assert f"data: {pairs}\n" in said.out
    assert "input 1  [16, " in said.out
    source = next(line for line in said.out.split("\n") if line.startswith("  source  "))
    assert source.endswith(" </s>")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sweep
def test_a_dry_run_of_a_run_that_goes_on(regard: Regard, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    before = contents(folder)
    said = regard("train", "--out", folder, "--dry-run", "train.steps=40")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"resumes {folder}\n")
    assert re.search(r"\n  train\.lr +0\.02 ", said.out)  # its own options are the base
    assert contents(folder) == before
    line = regard("train", "--out", folder, "--dry-run", "train.lr=0.5").line()
    assert "was started with train.lr=0.02, not 0.5" in line


def test_a_dry_run_without_wishes(regard: Regard, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = regard("train", "translate", "--data", pairs, "--dry-run")
    assert "options that differ from the defaults: none\n" in said.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["translat"], "unknown task 'translat'; did you mean 'translate'?"),
        (["translate", "encoder.hiden=3"], "unknown option 'encoder.hiden'; did you mean 'hidden'?"),
        (["translate", "encodr=recurrent"], "unknown option 'encodr'; did you mean 'encoder'?"),
        (["translate", "train.patienc=3"], "unknown option 'train.patienc'; did you mean 'patience'?"),
        (["translate", "attention.score=aditive"], "unknown score 'aditive'; did you mean 'additive'?"),
        (
            ["translate", "encoder.hidden=many"],
            "encoder.hidden: got 'many'; expected a whole number from 1 to 65,536 "
            "(units of the hidden state in each direction)",
        ),
        (["translate", "hidden 512"], "cannot read 'hidden 512'; expected key=value, for example encoder.hidden=512"),
        (["translate", "--time", "soon"], "time 'soon'; expected a time such as 90s, 5m or 1h30m"),
        (["translate", "train.device=gpu9"], "device 'gpu9' cannot be used here; expected auto, cpu, cuda or mps"),
        (
            ["encoder.hidden=3"],
            "got 'encoder.hidden=3' where a task was expected; put the task first: regard train translate …",
        ),
    ],
)
def test_wrong_options_are_told_before_anything_is_written(
    regard: Regard, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert regard("train", *words, "--data", pairs, "--quiet").line() == line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (None, "bad.tsv: no such file"),
        (b"", "bad.tsv: the file is empty"),
        (b"\n\n", "bad.tsv: only blank lines"),
        (b"a\tb\nc\td\te\n", "bad.tsv:2: 3 fields"),
        (b"a\tb\nc\n", "bad.tsv:2: 1 field"),
        (b"a\tb\nc\t\xff\n", "bad.tsv:2: byte 3 of the line is 0xff"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "data"])
def test_data_that_cannot_be_read(
    regard: Regard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, data: bytes | None, found: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if data is not None:
        Path("bad.tsv").write_bytes(data)
    said = regard(verb, "translate", "--data", "bad.tsv")
    assert said.code == 2
    assert found in said.out + said.err  # `data` lists all that is wrong, `train` stops at the first line
    assert not Path("runs").exists()


def test_a_place_that_cannot_be_written_to(regard: Regard, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = regard("train", "translate", "--data", pairs, "--out", tmp_path / "file" / "x", "--quiet", *tiny)
    assert str(tmp_path / "file") in said.line()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter.txt").write_text("mine")
    said = regard("train", "translate", "--data", pairs, "--out", tmp_path / "folder", "--fresh", "--quiet", *tiny)
    assert "already exists and is not a run" in said.line()
    assert contents(tmp_path) == {"file": b"mine", "folder/letter.txt": b"mine"}


def test_no_space_left(regard: Regard, run: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    shutil.copytree(run, tmp_path / "old")
    before = contents(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    for name in ("old", "new"):
        said = regard(
            "train", "translate", "--data", pairs, "--out", tmp_path / name, "--quiet", *tiny, "train.steps=40"
        )
        assert "no space left on device; free some space" in said.line()
    assert contents(tmp_path) == before
