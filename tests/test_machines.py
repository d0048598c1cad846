"""The tests on other machines: no file is left out, and what a busy machine can break is tried on one."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

import reliability_machines as machines


def test_every_file_is_tried_in_some_setting() -> None:
    tried = [machines.files(setting) for setting in machines.SETTINGS.values()]
    assert {Path(file) for files in tried for file in files} == set((machines.ROOT / "tests").rglob("test_*.py"))
    rest = next(set(machines.files(one)) for one in machines.SETTINGS.values() if not one.folders)
    assert not any(rest & set(files) for files in tried if set(files) != rest)  # only what no other setting has
    assert str(machines.ROOT / "tests" / "kernels" / "test_feature_triton.py") in rest


def test_what_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a report as pytest writes it; a test that was skipped is not counted."""
    cases = '<testcase classname="a" name="good"/><testcase classname="a" name="bad"><failure/></testcase>'
    cases += '<testcase classname="a" name="left out"><skipped/></testcase>'
    asked: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], env: dict[str, str], **more: object) -> subprocess.CompletedProcess[str]:
        asked.append((command, env))
        told = next(word.partition("=")[2] for word in command if word.startswith("--junitxml="))
        Path(told).write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
        return subprocess.CompletedProcess(command, 1, "", "")

    monkeypatch.setattr(machines.subprocess, "run", run)
    how = next(name for name, one in machines.SETTINGS.items() if one.threads == 8)
    row = machines.tried(3, how, 0.5)
    assert (row["count"], row["held"], row["fell_short"]) == (2, 1, ["a::bad"])
    [(command, env)] = asked
    assert (env["OMP_NUM_THREADS"], env["SHARE"], env["SEED"]) == ("8", "0.5", "3")
    assert command[-1].endswith(".py")
