"""How far the weights of trained runs can be taken for an explanation: `regard faithful` on each, one table.

    python benchmarks/faithful.py SST=runs/sst SNLI=runs/snli translate=runs/translate --limit 300

Each run is asked on the beginning of its own test set. What the runs were trained with is in the record.
"""

import argparse
import sys
import time

from record import record

import regard
from regard.api import flat
from regard.faithful import faithful

KEPT = ("text", "embed", "encoder", "pool", "attention", "decoder", "drop")  # options that say what a model is


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN")
    parser.add_argument("--limit", type=int, default=300, help="examples of each")
    parser.add_argument("--name", default="faithful", help="how the file of results is called")
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
                "best": model.task.best,
                "test": measures[model.task.best],
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
