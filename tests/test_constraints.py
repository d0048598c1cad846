"""The pinned versions and their hashes are of one another."""

import re
from pathlib import Path

root = Path(__file__).resolve().parent.parent


def test_every_pin_has_hashes_and_every_hash_a_pin() -> None:
    pins = re.findall(r"^([a-z0-9._-]+==\S+)$", (root / "constraints.txt").read_text(), re.M)
    text = (root / "constraints-hashed.txt").read_text()
    hashed = re.findall(r"^([a-z0-9._-]+==\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.M)
    absent = re.findall(r"^# Not on PyPI, and so not here: (\S+)$", text, re.M)
    assert len(pins) > 100
    assert sorted(pins) == sorted([*absent, *(pin for pin, _ in hashed)])  # else run .ci/hash_constraints.py
    assert "://" not in text


def test_the_limits_that_are_promised_are_those_that_are_kept() -> None:
    from regard.train import checkpoint, log, run, tensors

    said = (root / "SECURITY.md").read_text()
    kib, mib = 2**10, 2**20
    assert f"`config.toml` {run.CONFIG // kib} KiB, `tokenizer.json` {run.WORDS // mib} MiB" in said
    assert f"JSON files of a checkpoint {checkpoint.SMALL // mib} MiB each" in said
    assert f"the header of a weights file {tensors.HEADER // mib} MiB" in said
    assert f"`log.jsonl` the last {log.LARGEST // mib} MiB" in said
