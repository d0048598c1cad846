"""The tests on other machines than this one: without AVX-512 or AVX2, with other numbers of threads, in random order.

    python benchmarks/reliability_machines.py --scale 0.1

A part of reliability.py. The whole first tier in every setting would take four times as long and show no more: each
setting has the tests that can depend on it. What computes is tested on processors that can do less; what divides its
work, with more threads than cores; what waits or has a deadline, beside busy processes. The last setting has all other
files, so that every test is run once in random order: files are shuffled, and the tests of each. `--scale` runs a share
of the tests.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
COMPUTES = ("kernels", "attend", "encode", "pool", "predict", "search", "networks")
Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    folders: tuple[str, ...]  # below tests; without any, all files that no other setting has
    threads: int
    environ: dict[str, str] = field(default_factory=dict)
    busy: bool = False  # beside a process that never rests, for each core


SETTINGS = {
    "what computes, without vector instructions (ATEN_CPU_CAPABILITY=default), one thread": Setting(
        COMPUTES, 1, {"ATEN_CPU_CAPABILITY": "default"}
    ),
    "what computes, without AVX-512 (oneDNN, ATen and MKL kept to AVX2), two threads": Setting(COMPUTES, 2, AVX2),
    "what divides its work, eight threads": Setting(("kernels", "attend", "encode", "train"), 8),
    "what waits or has a deadline, one thread, beside busy processes": Setting(
        ("train", "serve", "cli", "compare"), 1, busy=True
    ),
    "all others, two threads": Setting((), 2),
}
PLUGIN = """
import os, random, zlib


def pytest_collection_modifyitems(items):
    share, chance = float(os.environ["SHARE"]), random.Random(int(os.environ["SEED"]))
    files = {}
    for item in items:
        if zlib.crc32(item.nodeid.encode()) / 2**32 < share:
            files.setdefault(item.path, []).append(item)
    names = list(files)
    chance.shuffle(names)
    for some in files.values():
        chance.shuffle(some)
    items[:] = [item for name in names for item in files[name]]
"""


def files(setting: Setting) -> list[str]:
    """Those of a setting. Triton's interpreter is NumPy, to which a processor's instructions and threads are the same:
    its tests are among the others."""
    tests = ROOT / "tests"
    found = {path: path.relative_to(tests).parts[0] for path in sorted(tests.rglob("test_*.py"))}
    found |= {
        path: "" for path in found if path.stem.endswith("_triton") or path.stem.startswith("test_kernels_compile")
    }
    elsewhere = {name for other in SETTINGS.values() for name in other.folders}
    return [str(path) for path, name in found.items() if name in (setting.folders or {*found.values()} - elsewhere)]


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """Beside processes that never rest, one for each core."""
    many = (os.cpu_count() or 1) if wanted else 0
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(many)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def tried(seed: int, how: str, scale: float) -> Row:
    """The tests in one setting."""
    setting = SETTINGS[how]
    with tempfile.TemporaryDirectory() as name, busy(setting.busy):
        (Path(name) / "shuffled.py").write_text(PLUGIN)
        path = os.pathsep.join([name, str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environ = {**os.environ, **setting.environ, "OMP_NUM_THREADS": str(setting.threads), "PYTHONPATH": path}
        environ |= {"SHARE": str(scale), "SEED": str(seed)}
        told = Path(name) / "told.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "shuffled", "-p", "no:cacheprovider"]
        command += [f"--junitxml={told}", *files(setting)]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        if not told.exists():
            raise SystemExit(done.stdout[-2_000:] + done.stderr[-2_000:])
        cases = list(ElementTree.parse(told).iter("testcase"))
    run = [case for case in cases if case.find("skipped") is None]
    wrong = [case for case in run if case.find("failure") is not None or case.find("error") is not None]
    return {
        "promise": "The tests pass on any machine, in any order",
        "tried": how,
        "count": len(run),
        "held": len(run) - len(wrong),
        "fell_short": [f"{case.get('classname')}::{case.get('name')}" for case in wrong][:20],
    }


def rows(scale: float = 1.0, jobs: int = 2) -> list[Row]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda one: tried(*one, scale), enumerate(SETTINGS, 1)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    print(json.dumps(rows(given.scale, given.jobs), indent=1))
