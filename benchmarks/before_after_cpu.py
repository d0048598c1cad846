"""Two versions of regard side by side on one CPU, in turns: the first command, the service and the page.

    git archive OLD src benchmarks | tar x -C old; git archive NEW src benchmarks | tar x -C new
    python benchmarks/before_after_cpu.py old new --commits OLD NEW --rounds 2 --name before_after_cpu

Each tree runs its own benchmark scripts (service.py, page.py) and its own command line. `before_after.sh` is the same
for a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from record import record

SIDES = ("before", "after")


def run(tree: Path, *command: str) -> tuple[float, str]:
    """Seconds and standard output of a Python command with the tree's own package."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=tree / "benchmarks", env=environment, check=True, stdout=subprocess.PIPE
    )
    return time.perf_counter() - began, done.stdout.decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs=2, type=Path, help="the older and the newer tree")
    parser.add_argument("--commits", nargs=2, default=("", ""), help="the commits they were taken from")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    sides = dict(zip(SIDES, (tree.resolve() for tree in given.trees), strict=True))
    found: dict[str, dict[str, Any]] = {
        side: {"commit": commit, "train_seconds": [], "exact_match": [], "service_per_second": [], "page_open_ms": []}
        for side, commit in zip(SIDES, given.commits, strict=True)
    }
    for turn in range(given.rounds):
        for side, tree in sides.items():
            kept, folder = found[side], str(tree / f"run{turn}")
            seconds, _ = run(tree, "-m", "regard", "train", "translate", "--out", folder)
            measured = json.loads(run(tree, "-m", "regard", "evaluate", folder, "--json")[1])
            kept["train_seconds"].append(round(seconds, 1))
            kept["exact_match"].append(measured["exact_match"])
            print(side, kept, flush=True)
        for side, tree in sides.items():
            # The script ends with 1 where a goal is missed; the figures are read all the same.
            call = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
            run(tree, "-c", call, "service.py", str(tree / f"run{turn}"), "--name", "service")
            run(tree, "page.py")
            results = tree / "benchmarks" / "results"
            service, page = (
                json.loads((results / f"{one}.json").read_text())["figures"] for one in ("service", "page")
            )
            found[side]["service_per_second"].append(service["together_look_per_second"])
            found[side]["page_open_ms"].append(page["open_ms"])
            print(side, found[side], flush=True)
    print(json.dumps(found, indent=2))
    if given.name:
        print(record(given.name, found))


if __name__ == "__main__":
    main()
