"""Two versions of regard side by side on one GPU: what a change of the code base must not change.

    git archive OLD src benchmarks | tar x -C old; git archive NEW src benchmarks | tar x -C new
    python benchmarks/before_after.py old new MULTI30K SNLI --commits OLD NEW --off drop=0.0 source.embed.dropout=0.0 \\
        --part train --runs runs --name before_after
    python benchmarks/before_after.py … --part speed …

Each tree runs its own benchmark scripts. `train` trains a GRU and a Transformer on Multi30k, and a Bi-LSTM and ReSAN on
SNLI, with both versions, all at once on the GPU. `speed` measures training at JoeyNMT's sizes and decoding with the GRU
of `train`; it runs alone, in turns, so that both versions meet the same machine. --off is the option that switches the
Transformer's source dropout off, in the words of each version. A part that was recorded before stays until it is run
again. before_after_cpu.py does the same for a CPU.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from record import record, results

SIDES = ("before", "after")
TRANSFORMER = ["encoder=transformer", "encoder.positions=rotary", "encoder.dropout=0.2", "decoder=transformer"]
TRANSFORMER += ["decoder.positions=rotary", "decoder.dropout=0.2", "attention.score=scaled_dot"]


def begun(tree: Path, *words: str) -> subprocess.Popen[str]:
    """A Python command with the tree's own package."""
    path = f"{tree / 'src'}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, *words], cwd=tree / "benchmarks", env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str], *wanted: str) -> dict[str, float]:
    """The figures that its output names, the last of each."""
    out, _ = process.communicate()
    found = {key: re.findall(rf"(?<!\w){key}\W+([\d.]+)", out) for key in wanted}
    if process.returncode or not all(found.values()):
        print(out[-3000:], file=sys.stderr)
        raise SystemExit(f"{process.args}: exit code {process.returncode}, {found}")
    return {key: float(numbers[-1]) for key, numbers in found.items()}


def train(trees: list[Path], given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    parts = {"train": "train", "valid": "dev", "test": "test"}
    snli = [f"data.{part}={given.snli / file}.tsv.gz" for part, file in parts.items()]
    snli += ["data.source=2,3", "data.target=1", "train.auto=false", "train.seed=1"]
    snli += [f"train.steps={given.steps}"] if given.steps else ["train.epochs=3"]
    limit = f"train.steps={given.steps}" if given.steps else f"train.time={given.time}"
    running: dict[tuple[str, str], subprocess.Popen[str]] = {}
    for side, tree, off in zip(SIDES, trees, given.off, strict=True):
        runs = given.runs / side
        base = ["translate.py", "train", str(given.multi30k), limit]
        running[side, "gru"] = begun(tree, *base, "--run", str(runs / "gru"))
        running[side, "transformer"] = begun(tree, *base, "--run", str(runs / "transformer"), *TRANSFORMER, off)
        for encoder in ("bilstm", "resan"):
            words = ["-m", "regard", "train", "entail", "--out", str(runs / encoder), f"encoder={encoder}", *snli]
            running[side, encoder] = begun(tree, *words)
    figures: dict[str, dict[str, Any]] = {side: {} for side in SIDES}
    for (side, name), process in running.items():
        if name in ("bilstm", "resan"):
            ended(process)
            asked = begun(trees[SIDES.index(side)], "-m", "regard", "evaluate", str(given.runs / side / name), "--json")
            figures[side][f"snli_{name}_accuracy"] = ended(asked, '"accuracy"')['"accuracy"']
        else:
            found = ended(process, "bleu", "tokens_per_second")
            figures[side] |= {f"multi30k_{name}_{key}": value for key, value in found.items()}
    return figures


def speed(trees: list[Path], given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    figures: dict[str, dict[str, Any]] = {side: {} for side in SIDES}
    for _ in range(given.rounds):
        for side, tree in zip(SIDES, trees, strict=True):
            stepped = begun(tree, "translate.py", "speed", str(given.multi30k), "--steps", "150")
            found = ended(stepped, "tokens_per_second")
            decoded = begun(
                tree, "translate.py", "decode", str(given.multi30k), "--run", str(given.runs / side / "gru")
            )
            found |= ended(decoded, "seconds_plain", "seconds_with_alignments")
            for key, value in found.items():
                figures[side].setdefault(key, []).append(value)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("old", "new", "multi30k", "snli"):
        parser.add_argument(name, type=lambda word: Path(word).resolve())
    parser.add_argument("--commits", nargs=2, required=True)
    parser.add_argument("--off", nargs=2, required=True)
    parser.add_argument("--part", choices=["train", "speed"], required=True)
    parser.add_argument("--runs", type=lambda word: Path(word).resolve(), default=Path("runs").resolve())
    parser.add_argument("--time", default="250s", help="of each training on Multi30k")
    parser.add_argument("--steps", type=int, default=0, help="a few steps of each training, to try it")
    parser.add_argument("--rounds", type=int, default=2, help="of speed")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    began = time.monotonic()
    found = {"train": train, "speed": speed}[given.part]([given.old, given.new], given)
    print(json.dumps(found, indent=2), f"\n{time.monotonic() - began:.0f} s")
    if given.name:
        kept = results / f"{given.name}.json"
        figures = json.loads(kept.read_text())["figures"] if kept.exists() else {}
        figures = {part: row for part, row in figures.items() if part in ("train", "speed")}
        figures[given.part] = {s: {"commit": c, **found[s]} for s, c in zip(SIDES, given.commits, strict=True)}
        print(record(given.name, figures))


if __name__ == "__main__":
    main()
