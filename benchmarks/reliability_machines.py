"""The tests on other machines than this one: without AVX-512 or AVX2, with other numbers of threads, in random order.

    python benchmarks/reliability_machines.py --scale 0.1

A part of reliability.py. What computes (kernels, attention, encoders, pooling, decoders, searches, training) is tested
by the first tier of its tests, in each of the settings below. Files are shuffled, and the tests of each. `--scale` runs
a share of the tests.
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
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [f"tests/{name}" for name in ("kernels", "attend", "encode", "pool", "predict", "search", "train")]
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
Row = dict[str, Any]
SETTINGS: dict[str, tuple[int, dict[str, str], bool]] = {  # threads, environment, beside a busy process for each core
    "without AVX2 (ATEN_CPU_CAPABILITY=default), one thread": (1, {"ATEN_CPU_CAPABILITY": "default"}, False),
    "without AVX-512 (oneDNN, ATen and MKL kept to AVX2), two threads": (2, AVX2, False),
    "eight threads": (8, {}, False),
    "one thread, beside busy processes": (1, {}, True),
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
    threads, more, beside = SETTINGS[how]
    with tempfile.TemporaryDirectory() as name, busy(beside):
        (Path(name) / "shuffled.py").write_text(PLUGIN)
        path = os.pathsep.join([name, str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environ = {**os.environ, **more, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path}
        environ |= {"SHARE": str(scale), "SEED": str(seed)}
        told = Path(name) / "told.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "shuffled", "-p", "no:cacheprovider"]
        command += [f"--junitxml={told}", *FOLDERS]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        if not told.exists():
            raise SystemExit(done.stdout[-2_000:] + done.stderr[-2_000:])
        cases = list(ElementTree.parse(told).iter("testcase"))
    run = [case for case in cases if case.find("skipped") is None]
    wrong = [case for case in run if case.find("failure") is not None or case.find("error") is not None]
    return {
        "promise": "What computes passes its tests on any machine, in any order",
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
