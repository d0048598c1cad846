"""`regard info`: versions for bug reports, and what a run is."""

import json
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
    assert shown["valid token_accuracy"].startswith(f"{best:.4g}, the best, at step ")
    assert "test exact_match" in shown
