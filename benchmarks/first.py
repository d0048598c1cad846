"""What a newcomer meets: `regard --help`, and `regard train translate` with nothing else given.

python benchmarks/first.py --name first        # seconds from the command to its end, exact match on unseen dates
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import record

regard = [sys.executable, "-c", "from regard.cli.main import main; main()"]


def timed(*arguments: str) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run([*regard, *arguments], check=True, capture_output=True, text=True)
    return time.perf_counter() - began, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    name = parser.parse_args().name
    helped = min(timed("--help")[0] for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "translate")
        seconds, shown = timed("train", "translate", "--out", run)
        print(shown)
        evaluated, figures = timed("evaluate", run, "--json")
        measures = json.loads(figures)
    figures_kept = {
        "help_seconds": round(helped, 3),
        "train_seconds": round(seconds, 1),
        "evaluate_seconds": round(evaluated, 1),
        "exact_match": measures["exact_match"],
        "alignment": measures["alignment"],
        "cores": len(os.sched_getaffinity(0)),
    }
    print(json.dumps(figures_kept, indent=2))
    if name:
        print(record(name, figures_kept))


if __name__ == "__main__":
    main()
