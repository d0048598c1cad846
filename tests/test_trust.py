"""Nothing that a run names is imported before it is trusted: every verb, every field that can hold a name."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RegardError
from regard.trust import admit, outside


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"task": "classify", "encoder": {"name": "lstm"}}, []),
        ({"task": "my.Task"}, ["my.Task"]),
        ({"encoder": {"name": "my.Encoder", "attention": {"score": {"name": "my.Score"}}}}, ["my.Encoder", "my.Score"]),
        ({"metrics": [{"name": "my.Measure"}, "bleu"]}, ["my.Measure"]),
        ({"metrics": "bleu, my.Measure,my.Other"}, ["my.Measure", "my.Other"]),
        ({"data": {"train": "pairs.tsv", "valid": "a.b"}, "train": {"time": "1.5m"}}, []),
        ({"data": {"train": "builtin:my.Data"}}, ["builtin:my.Data"]),
        ({"input": {"embed": {"vectors": "glove.6B.txt"}}}, []),
        ({"input": {"embed": {"vectors": {"name": "my.Vectors"}}}}, ["my.Vectors"]),  # a file is a word, and no table
        (
            {"encoder": {"data": "my.Data", "train": "my.Train"}},
            ["my.Data", "my.Train"],
        ),  # only at the top are they files
        ({"data": "my.Data"}, ["my.Data"]),
    ],
)
def test_every_name_with_a_dot_is_from_outside(config: dict[str, Any], names: list[str]) -> None:
    assert list(outside(config)) == names


def test_what_is_trusted_may_pass() -> None:
    config = {"task": "my.Task", "encoder": {"name": "my.Encoder"}}
    for trust in (True, ("my.Task", "my.Encoder")):
        admit("runs/mine", config, trust)
    for trust, stranger in ((False, "my.Task"), ((), "my.Task"), (("my.Task",), "my.Encoder")):
        told = f"^runs/mine uses {stranger}, which is not part of regard; add --code my.py, or --trust"
        with pytest.raises(RegardError, match=told):
            admit("runs/mine", config, trust)
    with pytest.raises(
        RegardError, match=r"^runs/mine uses my\.package\.Task, which is not part of regard; add --trust"
    ):
        admit("runs/mine", {"task": "my.package.Task"})


@pytest.mark.sweep
def test_no_verb_imports_what_a_run_names_in_any_field(tmp_path: Path) -> None:
    here = Path(__file__).parent
    walked = subprocess.run(
        [sys.executable, str(here / "trust_walk.py"), str(tmp_path)],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent / "src"), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert walked.returncode == 0, walked.stderr
    rows = [json.loads(line) for line in walked.stdout.splitlines()]
    assert len(rows) > 100
    assert {"translate.task", "tag.data.train", "classify.pool.attention.normalizer"} <= {row["field"] for row in rows}
    assert not [row["field"] for row in rows if not row["live"]]  # trusted, each of them leads to an import
    assert not [row for row in rows if row["sang"]]
    for row in rows:
        assert len(row["ended"]) >= 7, row
        for way, line in row["ended"].items():
            assert "which is not part of regard; add --trust" in line, (row["field"], way, line)
            assert line.count("\n") <= 1, line
