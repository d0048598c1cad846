"""Figures as they were measured, with all that is needed to measure them again.

`record("additive", {"forward_ms": 0.51})` writes `benchmarks/results/additive.json`, whole or not at
all: the figures, the command, the commit, the date, the hardware and the versions. Nothing in it names
the machine or a place on it. `tables.py` makes the tables of the README and the docs from these files.
"""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from regard.files import write_whole

root = Path(__file__).resolve().parent.parent
results = root / "benchmarks" / "results"


def record(name: str, figures: dict[str, Any], command: str | None = None) -> Path:
    """Keep `figures` as `results/NAME.json`; an earlier file of that name is replaced."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise ValueError(f"{name!r} cannot be the name of a file of results; use letters, digits, '-', '_' and '.'")
    content = {
        "name": name,
        "figures": figures,
        "command": shlex.join(_here(word) for word in (_invocation() if command is None else shlex.split(command))),
        **_commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": hardware(),
        "versions": versions(),
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    results.mkdir(parents=True, exist_ok=True)
    return write_whole(results / f"{name}.json", text)


def _invocation() -> list[str]:
    return ["python", str(Path(sys.argv[0]).resolve()), *sys.argv[1:]]


def _here(word: str) -> str:
    """A word of a command without the machine's paths: relative to the repository, else the last name only."""
    option, equals, value = word.rpartition("=")
    if not Path(value).is_absolute():
        return word
    path = Path(value).resolve()
    return option + equals + (path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name)


def _git(*arguments: str) -> str | None:
    try:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _commit() -> dict[str, Any]:
    """The commit, and whether code differed from it (results and pages do not change what is measured).

    A copy of the tree may have no history, or an older one: REGARD_COMMIT then names the commit it was made of.
    """
    if named := os.environ.get("REGARD_COMMIT"):
        return {"commit": named, "dirty": None}
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", ".", ":(exclude)benchmarks/results", ":(exclude)*.md")
    return {"commit": commit, "dirty": None if commit is None else bool(changed)}


def hardware() -> dict[str, Any]:
    """What it was measured on: processor, usable cores, memory in GiB, GPU."""
    import torch

    cpuinfo = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*:\s*(.+)$", cpuinfo.read_text() if cpuinfo.is_file() else "", re.MULTILINE)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pages = {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(getattr(os, "sysconf_names", {}))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if pages else None
    return {
        "cpu": models[0].strip() if models else platform.processor() or platform.machine(),
        "cores": cores,
        "memory_gib": None if memory is None else round(memory, 1),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def versions() -> dict[str, str]:
    """The versions that bear on a figure; what is not installed is left out."""
    found = {"python": platform.python_version()}
    for package in ("torch", "triton", "regard"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
