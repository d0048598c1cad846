"""How far the weights of trained runs can be read as an explanation: `regard faithful` on each, one table.

    python benchmarks/faithful.py SST=runs/sst SNLI=runs/snli translate=runs/translate --limit 300

Each run is tested on the first examples of its own test set. The record holds the options it was trained with.
"""

import argparse
import sys
import time

from record import record

import regard
from regard.api import flat
from regard.faithful import faithful

# Options that say what a model is.
KEPT = ("input", "source", "target", "encoder", "pool", "match", "attention", "decoder", "head", "dropout")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN")
    parser.add_argument("--limit", type=int, default=300, help="examples per run")
    parser.add_argument("--name", default="faithful", help="name of the results file")
    given = parser.parse_args()
    rows = []
    for pair in given.runs:
        name, _, folder = pair.partition("=")
        model, began = regard.load(folder), time.monotonic()
        examples = model.data().test[: given.limit]
        report = faithful(model, examples, seed=0)
        measures = model.evaluate(model.data().test)
        options = {
            key: value for key, value in flat(model.config) if key.split(".")[0] in KEPT and "vectors" not in key
        }
        rows.append(
            {
                "name": name,
                "task": model.config["task"],
                "encoder": model.config["encoder"],
                "best": model.task.metrics.best,
                "test": measures[model.task.metrics.best],
                "summary": report["summary"],
                "options": options,
                "seconds": round(time.monotonic() - began, 1),
            }
        )
        print(f"{name}: {report['summary']['verdict']}", flush=True)
    print(record(given.name, {"rows": rows, "limit": given.limit}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
