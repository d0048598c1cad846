"""`regard faithful`: a table and three files; one line for what is wrong."""

import json
import shutil
from pathlib import Path

import pytest
from command_line import Regard, contents

from regard.api import load
from regard.look.scene import describe_run
from regard.train.lock import lock


@pytest.mark.sweep
def test_it_writes_a_table_and_three_files(regard: Regard, run: Path, pairs: Path, tmp_path: Path) -> None:
    before = contents(run)
    words = ("--data", pairs, "--limit", 2, "--shuffles", 5, "--words", 1, "--seed", 1, "--device", "cpu")
    said = regard("faithful", run, *words, "--out", tmp_path / "a" / "b")
    assert said.code == 0, said
    assert contents(run) == before
    assert "Kendall τ with gradients" in said.out
    assert "JS of adversarial weights, ε = 0.05" in said.out
    folder = tmp_path / "a" / "b"
    assert sorted(contents(folder)) == ["faithful.json", "faithful.md", "faithful.png"]
    report = json.loads((folder / "faithful.json").read_text())
    summary = report["summary"]
    assert (report["version"], report["task"], report["seed"], summary["examples"]) == (1, "translate", 1, 2)
    assert {"tau_gradient", "tau_leave_one_out", "shuffled", "adversarial", "verdict", "level"} <= set(summary)
    assert {"mean", "std", "share_significant"} <= set(summary["tau_gradient"])
    assert {"median_tv"} <= set(summary["shuffled"])
    assert {"median_js", "max_js"} <= set(summary["adversarial"])
    assert summary["level"] in ("weak", "mixed", "strong")
    assert said.out.rstrip().endswith(f"{summary['level']}: {summary['verdict']}")
    assert len(report["rows"]) == summary["cases"] == 2
    assert report["command"][:2] == ["regard", "faithful"]
    assert "commit" in report
    assert len(report["model"]) == 32
    assert summary["verdict"] in (folder / "faithful.md").read_text()
    assert (folder / "faithful.png").read_bytes().startswith(b"\x89PNG")
    own = tmp_path / "own"
    shutil.copytree(run, own)
    shutil.copy(folder / "faithful.json", own)
    model = load(own)
    assert describe_run(model, "own", model.roles, model.features)["badge"] == summary
    next(model.network.parameters()).data.mul_(2)
    model.run.save_weights(model.network)
    assert describe_run(model, "own", model.roles, model.features)["badge"] is None


def test_wrong_numbers_and_places_are_one_line(regard: Regard, run: Path, pairs: Path, tmp_path: Path) -> None:
    for flag, number, least in (("--limit", 0, 1), ("--shuffles", 0, 1), ("--words", -1, 0), ("--seed", -1, 0)):
        line = regard("faithful", run, flag, number).line()
        assert line.startswith(f"{flag}: got {number}; expected a whole number from {least} to ")
    assert "is a file" in regard("faithful", run, "--out", pairs).line()
    assert "does not exist" in regard("faithful", tmp_path / "nothing").line()
    assert "missing.tsv" in regard("faithful", run, "--data", tmp_path / "missing.tsv").line()
    blocked = regard(
        "faithful", run, "--data", pairs, "--limit", 1, "--words", 1, "--shuffles", 1, "--out", pairs / "x"
    )
    assert "cannot write to" in blocked.line()


@pytest.mark.sweep
def test_a_run_that_somebody_writes_is_left_alone(regard: Regard, run: Path, pairs: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(run, tmp_path / "own"))
    words = ("--data", pairs, "--limit", 1, "--shuffles", 1, "--words", 1, "--device", "cpu")
    with lock(own):
        assert f"{own} is in use by process" in regard("faithful", own, *words).line()
        assert regard("faithful", own, *words, "--out", tmp_path / "out").code == 0  # it is only read then
    assert regard("faithful", own, *words).code == 0
    assert not (own / ".lock").exists()
