"""`regard info`: versions for bug reports, and what a run is."""

import json
import shutil
from pathlib import Path

import torch
from command_line import Regard

from regard import __version__
from regard.api import load


def test_versions(regard: Regard) -> None:
    lines = dict(line.split(maxsplit=1) for line in regard("info").out.splitlines())
    assert lines["regard"] == __version__
    assert lines["torch"] == torch.__version__
    assert {"python", "triton", "system", "cpu", "gpu"} <= lines.keys()


def test_a_run(regard: Regard, run: Path, pairs: Path) -> None:
    said = regard("info", run)
    assert (said.code, said.err) == (0, "")
    size = sum(p.numel() for p in load(run).network.parameters())
    rows = [line.split("  ", 1) for line in said.out.splitlines()]
    shown = {name: value.strip() for name, value in rows}
    assert shown["task"] == "translate"
    assert shown["size"] == f"{size:,} parameters"
    assert shown["data"] == str(pairs)
    assert shown["steps"].startswith("30, ")
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    best = max(event["valid"]["token_accuracy"] for event in log)
    assert shown["valid token_accuracy"].startswith(f"{best:.4g} (best, at step ")
    assert "test exact_match" in shown


def test_the_best_step_is_found_wherever_it_stands(regard: Regard, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("state"))
    values = {10: 0.25, 20: 0.75, 30: 0.5}
    events = [json.dumps({"step": step, "valid": {"token_accuracy": value}}) for step, value in values.items()]
    (folder / "log.jsonl").write_text("\n".join([*events, '{"step": 40, "va']))
    assert "0.75 (best, at step 20)\n" in regard("info", folder).out
    (folder / "log.jsonl").write_text("")
    assert "no validation yet" in regard("info", folder).out
