"""Recurrent visual attention: error on MNIST against the number of glimpses, beside the published one.

    python benchmarks/glimpse.py mnist DATA/mnist --name glimpse_mnist               # 28 × 28, one scale of 8 × 8
    python benchmarks/glimpse.py translated DATA/mnist --name glimpse_translated     # 60 × 60, three scales of 12 × 12
    python benchmarks/glimpse.py cluttered DATA/cluttered_mnist --name glimpse_cluttered

DATA/mnist holds the four idx files. Several trainings share the device (--jobs). `--tiny` checks the script.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from record import record
from together import spread, together

SIDE = 60  # pixels of a translated picture
SETS: dict[str, dict[str, Any]] = {
    "mnist": {"size": 28, "network": {"size": 8, "scales": 1}, "glimpses": (2, 4, 6, 8)},
    "translated": {"size": SIDE, "network": {"size": 12, "scales": 3}, "glimpses": (4, 6, 8)},
    "cluttered": {"size": 40, "network": {"size": 8, "scales": 3}, "glimpses": (6, 8)},
}
# Mnih et al. 2014, tables 1 and 2: error in percent.
PUBLISHED = {"mnist": {2: 6.27, 3: 2.7, 4: 1.73, 5: 1.55, 6: 1.29, 7: 1.47}, "translated": {4: 2.29, 6: 1.86, 8: 1.84}}


def train(data: str, options: dict[str, Any], folder: str) -> dict[str, Any]:
    """Error in percent on the test set, and how the training went."""
    from regard import api

    trained = api.train("glimpse", data=data, out=folder, quiet=True, fresh=True, **options)
    outcome = trained.outcome
    return {
        "error": 100 * (1 - float(trained.test["accuracy"])),
        "epochs": outcome.epochs,
        "seconds": outcome.seconds,
        "pictures_per_second": outcome.per_second,
    }


def translated(folder: Path, out: Path, seed: int = 1) -> str:
    """MNIST with each digit somewhere on a larger canvas, as one .npz; the last 5,000 of train are for validation."""
    from regard.data.arrays import read_arrays
    from regard.fields.image import decode

    chance, arrays = np.random.default_rng(seed), {}
    for part, examples in (read_arrays(str(folder)) or {}).items():
        canvas = np.zeros((len(examples), SIDE, SIDE), np.uint8)
        for row, one in zip(canvas, examples, strict=True):
            digit = np.asarray(decode(one.inputs[0], ""))
            y, x = chance.integers(0, SIDE - 28 + 1, 2)
            row[y : y + 28, x : x + 28] = digit
        labels = np.array([int(one.target) for one in examples])
        pieces = {"train": slice(0, -5000), "valid": slice(-5000, None)} if part == "train" else {part: slice(None)}
        for name, rows in pieces.items():
            arrays |= {f"X_{name}": canvas[rows], f"y_{name}": labels[rows]}
    np.savez_compressed(out, **arrays)
    return str(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("data", type=Path)
    parser.add_argument("--glimpses", default="", help="numbers of glimpses with commas; empty: the set's own")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time", default="500s", help="of each training")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--tiny", action="store_true", help="one seed, one step: does it run?")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    parser.add_argument("options", nargs="*", help="further options of the training, KEY=VALUE")
    given = parser.parse_args()
    from regard.api import merge
    from regard.cli.options import parse_pairs

    kind = SETS[given.set]
    numbers = [int(one) for one in given.glimpses.split(",") if one] or kind["glimpses"]
    plan: dict[str, Any] = {
        "batch_tokens": 0,
        "batch_size": 128,
        "epochs": given.epochs,
        "time": given.time,
        "lr": 1e-3,
        "auto": False,
        "patience": 1000,
        "workers": 0,
    }
    plan |= {"steps": 1, "max_validation": 64} if given.tiny else {}
    with tempfile.TemporaryDirectory() as folder:
        data = str(given.data)
        if given.set == "translated":
            data = translated(given.data, Path(folder) / "translated.npz")
        elif given.set == "cluttered":
            [data] = map(str, given.data.glob("*.npz"))
        work = {}
        for seed in range(1, 1 + (1 if given.tiny else given.seeds)):
            for number in numbers:
                options = {
                    "input": {"size": kind["size"], "colour": False},
                    "network": {**kind["network"], "glimpses": number},
                    "train": {**plan, "seed": seed},
                }
                run = str(Path(folder) / f"{number}-{seed}")
                work[f"{number} {seed}"] = (train, data, merge(options, parse_pairs(given.options)), run)
        rows: dict[int, dict[int, dict[str, Any]]] = {}
        for key, found in together(work, given.jobs):
            number, seed = map(int, key.split())
            rows.setdefault(number, {})[seed] = found
    published = PUBLISHED.get(given.set, {})
    figures = {str(number): {**spread(rows[number]), "published": published.get(number)} for number in sorted(rows)}
    print(figures)
    if given.name:
        print(record(given.name, figures))


if __name__ == "__main__":
    main()
