"""Two versions of regard side by side on one CPU, in turns: the first command, the service and the page.

    git archive OLD src benchmarks | tar x -C old; git archive NEW src benchmarks | tar x -C new
    python benchmarks/before_after_cpu.py old new --commits OLD NEW --name before_after_cpu

Each tree runs its own benchmark scripts (service.py, page.py) and its own command line. A part that was recorded before
stays until it is run again. `before_after.sh` is the same for a GPU.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
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


def train(tree: Path, seed: int) -> dict[str, float]:
    """The first command: seconds, and its exact match on unseen dates. The service uses what was trained last."""
    folder = str(tree / "run")
    shutil.rmtree(folder, ignore_errors=True)
    seconds, _ = run(tree, "-m", "regard", "train", "translate", "--out", folder, f"train.seed={seed}")
    measured = json.loads(run(tree, "-m", "regard", "evaluate", folder, "--json")[1])
    return {"seconds": round(seconds, 1), "exact_match": measured["exact_match"]}


def service(tree: Path, seed: int) -> dict[str, float]:
    """Requests a second, with attention weights and without."""
    # The script ends with 1 where a goal is missed; the figures are read all the same.
    call = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
    run(tree, "-c", call, "service.py", str(tree / "run"), "--name", "service")
    figures = json.loads((tree / "benchmarks" / "results" / "service.json").read_text())["figures"]
    return {"with_weights": figures["together_look_per_second"], "without": figures["together_plain_per_second"]}


def page(tree: Path, seed: int) -> dict[str, float]:
    """Milliseconds until the page is there."""
    run(tree, "page.py")
    figures = json.loads((tree / "benchmarks" / "results" / "page.json").read_text())["figures"]
    return {"open_ms": figures["open_ms"]}


PARTS = {"train": train, "service": service, "page": page}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs=2, type=Path, help="the older and the newer tree")
    parser.add_argument("--commits", nargs=2, default=("", ""), help="the commits they were taken from")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--rounds", type=int, default=3, help="the rounds train with the seeds 1, 2, …")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    sides = dict(zip(SIDES, (tree.resolve() for tree in given.trees), strict=True))
    kept = results / f"{given.name}.json"
    found: dict[str, Any] = json.loads(kept.read_text())["figures"] if given.name and kept.exists() else {}
    for part in given.only.split(","):
        found[part] = {side: {"commit": commit} for side, commit in zip(SIDES, given.commits, strict=True)}
        for turn in range(given.rounds):
            for side, tree in sides.items():
                for name, value in PARTS[part](tree, turn + 1).items():
                    found[part][side].setdefault(name, []).append(value)
            print(part, json.dumps(found[part]), flush=True)
        if given.name:
            print(record(given.name, found))


if __name__ == "__main__":
    main()
