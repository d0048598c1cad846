"""Inputs other than text: `classify` on the built-in pictures and lists of items, on this machine.

python benchmarks/fields.py --name fields        # accuracy on unseen examples, seconds of the whole command
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from first import timed
from record import record

SETS = {"digits": "image", "visits": "items"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    name = parser.parse_args().name
    figures: dict[str, object] = {"cores": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory() as folder:
        for one, field in SETS.items():
            run = str(Path(folder) / one)
            seconds, _ = timed("train", "classify", "--data", f"builtin:{one}", "--out", run)
            measures = json.loads(timed("evaluate", run, "--json")[1])
            figures[one] = {"field": field, "accuracy": measures["accuracy"], "seconds": round(seconds, 1)}
    print(json.dumps(figures, indent=2))
    if name:
        print(record(name, figures))


if __name__ == "__main__":
    main()
