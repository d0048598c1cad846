"""Two versions of regard side by side on one CPU, in turns: the first command, the service and the page.

    git archive OLD src benchmarks | tar x -C old; git archive NEW src benchmarks | tar x -C new
    python benchmarks/before_after_cpu.py old new --commits OLD NEW --name before_after_cpu

Each tree runs its own benchmark scripts (service.py, page.py) and its own command line, on two cores of which nothing
else has a share. A round runs every part on both sides; its number is the seed of its trainings. Seconds are kept, and
what is left to wait for is printed after each run. A part that was recorded before stays until it is run again.
`--quick` tries the script itself: a few steps, a second of requests, nothing kept. `before_after.py` is the same for a
GPU.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from record import record, results

SIDES = ("before", "after")


def run(tree: Path, *command: str) -> tuple[float, str]:
    """Seconds and standard output of a Python command with the tree's own package."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=tree / "benchmarks", env=environment, check=True, stdout=subprocess.PIPE
    )
    return time.perf_counter() - began, done.stdout.decode()


def train(tree: Path, seed: int, quick: bool) -> dict[str, float]:
    """The first command: seconds, and its exact match on unseen dates. The service uses what was trained last."""
    folder = str(tree / "run")
    shutil.rmtree(folder, ignore_errors=True)
    seconds, _ = run(
        tree,
        "-m",
        "regard",
        "train",
        "translate",
        "--out",
        folder,
        f"train.seed={seed}",
        *["train.steps=5", "--time", "45s"] * quick,
    )
    measured = json.loads(run(tree, "-m", "regard", "evaluate", folder, "--json")[1])
    return {"seconds": round(seconds, 1), "exact_match": measured["exact_match"]}


def service(tree: Path, seed: int, quick: bool) -> dict[str, float]:
    """Requests a second, with attention weights and without."""
    # The script ends with 1 where a goal is missed; the figures are read all the same.
    call = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
    run(tree, "-c", call, "service.py", str(tree / "run"), "--name", "service", *["--seconds", "1"] * quick)
    figures = json.loads((tree / "benchmarks" / "results" / "service.json").read_text())["figures"]
    return {"with_weights": figures["together_look_per_second"], "without": figures["together_plain_per_second"]}


def page(tree: Path, seed: int, quick: bool) -> dict[str, float]:
    """Milliseconds until the page is there."""
    run(tree, "page.py")
    figures = json.loads((tree / "benchmarks" / "results" / "page.json").read_text())["figures"]
    return {"open_ms": figures["open_ms"]}


def summary(part: str, found: dict[str, Any]) -> list[str]:
    """Every figure before and after: its mean and its range."""

    def told(values: list[float]) -> str:
        return f"{statistics.fmean(values):.4g} ({min(values):.4g} to {max(values):.4g})"

    before, after = (found[side] for side in SIDES)
    return [f"{part}, {name}: {told(before[name])} → {told(after[name])}" for name in before if name != "commit"]


PARTS = {"train": train, "service": service, "page": page}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs=2, type=Path, help="the older and the newer tree")
    parser.add_argument("--commits", nargs=2, default=("", ""), help="the commits they were taken from")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--rounds", type=int, default=3, help="the rounds train with the seeds 1, 2, …")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    parser.add_argument("--quick", action="store_true", help="one round with very small parts, to try the script")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.name = 1, ""
    sides = dict(zip(SIDES, (tree.resolve() for tree in given.trees), strict=True))
    kept = results / f"{given.name}.json"
    found: dict[str, Any] = json.loads(kept.read_text())["figures"] if given.name and kept.exists() else {}
    for part in given.only.split(","):
        found[part] = {side: {"commit": commit} for side, commit in zip(SIDES, given.commits, strict=True)}
        began, whole = time.perf_counter(), given.rounds * len(sides)
        for done, (turn, (side, tree)) in enumerate(product(range(given.rounds), sides.items()), 1):
            for name, value in PARTS[part](tree, turn + 1, given.quick).items():
                found[part][side].setdefault(name, []).append(value)
            passed = time.perf_counter() - began
            print(
                f"{part}: {done} of {whole} after {passed:.0f} s, {passed / done * (whole - done):.0f} s left",
                flush=True,
            )
        found[part]["seconds"] = round(time.perf_counter() - began)
        print("\n".join(summary(part, found[part])), flush=True)
        if given.name:
            print(record(given.name, found))


if __name__ == "__main__":
    main()
