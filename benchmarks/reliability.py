"""What is promised, what was tried, what held: every part of the reliability table in one command.

    python benchmarks/reliability.py --name reliability                 # all of it, at the published counts
    python benchmarks/reliability.py --only runs,data --scale 0.01      # a smoke test of two parts

A part is a file `reliability_PART.py` with a function `rows(scale)`. Each part runs in a process of its own: some of
them fork, set limits or install audit hooks. A part is recorded as soon as it ends, and one that was recorded before
stays until it is run again, so the table can be made in several sittings. `tables.py` writes it into
docs/reliability.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import _commit, record, results

HERE = Path(__file__).resolve().parent
PARTS = sorted(path.stem.removeprefix("reliability_") for path in HERE.glob("reliability_*.py"))
CALL = (
    "import json, pathlib, sys; import reliability_{part} as part;"
    "pathlib.Path(sys.argv[1]).write_text(json.dumps(part.rows(float(sys.argv[2]))))"
)


def run(part: str, scale: float) -> list[dict[str, object]]:
    """The rows of one part, from a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        call = [sys.executable, "-c", CALL.format(part=part), str(rows), str(scale)]
        done = subprocess.run(call, cwd=HERE)
        if done.returncode or not rows.exists():
            raise SystemExit(f"{part} ended with exit code {done.returncode}")
        return json.loads(rows.read_text())  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"parts, with commas between: {', '.join(PARTS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="a share of the published counts")
    parser.add_argument("--name", default="", help="the record in benchmarks/results; nothing is kept without one")
    given = parser.parse_args()
    wanted = [part.strip() for part in given.only.split(",") if part.strip()] or PARTS
    if unknown := sorted(set(wanted) - set(PARTS)):
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    known = results / f"{given.name}.json"
    parts = json.loads(known.read_text())["figures"]["parts"] if given.name and known.exists() else {}
    short = 0
    for part in wanted:
        began = time.monotonic()
        rows = run(part, given.scale)
        took = round(time.monotonic() - began)
        parts[part] = {"rows": rows, "scale": given.scale, "seconds": took, "commit": _commit()["commit"]}
        for row in rows:
            print(f"{part}: {row['held']:,} of {row['count']:,}  {row['promise']}", flush=True)
            for line in row["fell_short"]:
                print(f"    {line}")
            short += row["count"] - row["held"]
        if given.name:
            record(given.name, {"parts": parts})
    sys.exit(1 if short else 0)


if __name__ == "__main__":
    main()
