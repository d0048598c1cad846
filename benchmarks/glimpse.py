"""Recurrent visual attention: error on MNIST against the number of glimpses, beside the published one.

    python benchmarks/glimpse.py mnist,translated,cluttered DATA --name glimpse

Three sets: `mnist` is 28 × 28 and read with one scale of 8 × 8, `translated` 60 × 60 with three scales of 12 × 12, and
`cluttered` 40 × 40 with three scales of 8 × 8. DATA is a folder with `mnist` (the four idx files) and `cluttered_mnist`
(an .npz), 15 MB together. All trainings of a call share the device, each in a process of its own (--jobs), so a call
takes --time and half a minute: 15 trainings on one GPU, one core each. The last number of glimpses of a set has three
seeds (--seeds), the others one. The records glimpse_mnist, glimpse_translated and glimpse_cluttered are written
whenever a training has ended. `--tiny` checks the script.

Batches of 512, AdamW with a rate that falls to 0 along a cosine at the end of the time, averaged weights, places drawn
with σ 0.25, steps recorded as CUDA graphs. Validation is rare, and by the likeliest path alone; the test takes the mean
over ten ways to look (network.paths). Pictures are decoded once and stay in memory.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from record import record
from together import spread, together

SIDE = 60  # pixels of a translated picture
PLACES = 2  # where each training digit stands on it, a picture for each
PATHS = 10  # ways to look of which a test is the mean
# `glimpses` have one seed each, but for the last of them, which has all.
# Ten thousand pictures are soon learned by heart.
FEW = {"batch_size": 128, "epochs": 150, "validate_every": 500}
SETS: dict[str, dict[str, Any]] = {
    "mnist": {"size": 28, "network": {"size": 8, "scales": 1}, "glimpses": (2, 3, 4, 5, 7, 6), "train": {}},
    "translated": {"size": SIDE, "network": {"size": 12, "scales": 3}, "glimpses": (8,), "train": {}},
    "cluttered": {"size": 40, "network": {"size": 8, "scales": 3}, "glimpses": (6, 8), "train": FEW},
}
# Mnih et al. 2014, tables 1 and 2: error in percent.
PUBLISHED = {"mnist": {2: 6.27, 3: 2.7, 4: 1.73, 5: 1.55, 6: 1.29, 7: 1.47}, "translated": {4: 2.29, 6: 1.86, 8: 1.84}}


def train(data: str, options: dict[str, Any], folder: str) -> dict[str, Any]:
    """Error in percent on the test set, on how many pictures, and how the training went."""
    from regard import api

    trained = api.train("glimpse", data=data, out=folder, quiet=True, fresh=True, **options)
    outcome = trained.outcome
    return {
        "error": 100 * (1 - float(trained.test["accuracy"])),
        "tested": trained.tested,
        "epochs": round(outcome.epochs, 1),
        "seconds": round(outcome.seconds, 1),
        "pictures_per_second": round(outcome.per_second),
    }


def translated(folder: Path, out: Path, seed: int = 1) -> str:
    """MNIST with each digit somewhere on a larger canvas, as one .npz; the last 5,000 of train are for validation. Each
    digit that trains stands on several canvases, which comes near to placing it anew whenever it is seen."""
    from regard.data.arrays import read_arrays
    from regard.fields.image import decode

    chance, arrays = np.random.default_rng(seed), {}
    parts = dict(read_arrays(str(folder)) or {})
    parts["valid"], parts["train"] = parts["train"][-5000:], parts["train"][:-5000] * PLACES
    for part, examples in parts.items():
        canvas = np.zeros((len(examples), SIDE, SIDE), np.uint8)
        for row, one in zip(canvas, examples, strict=True):
            digit = np.asarray(decode(one.inputs[0], "").convert("L"))
            y, x = chance.integers(0, SIDE - 28 + 1, 2)
            row[y : y + 28, x : x + 28] = digit
        arrays |= {f"X_{part}": canvas, f"y_{part}": np.array([int(one.target) for one in examples])}
    np.savez_compressed(out, **arrays)
    return str(out)


def data_of(kind: str, given: Path, folder: str) -> str:
    """Where the pictures of a set are; made here where nobody hands them out."""
    if kind == "translated":
        return translated(given / "mnist", Path(folder) / "translated.npz")
    return str(given / "mnist") if kind == "mnist" else str(next((given / "cluttered_mnist").glob("*.npz")))


def written(kind: str, rows: dict[int, dict[int, dict[str, Any]]], name: str) -> None:
    """All there is of a set so far: figures for each number of glimpses, a list over the seeds each."""
    published = PUBLISHED.get(kind, {})
    figures = {str(number): {**spread(rows[number]), "published": published.get(number)} for number in sorted(rows)}
    print(kind, {number: figure.get("error") for number, figure in figures.items()}, flush=True)
    if name:
        record(f"{name}_{kind}", figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", help=f"with commas: {', '.join(SETS)}")
    parser.add_argument("data", type=Path)
    parser.add_argument("--glimpses", default="", help="numbers of glimpses with commas, the last with all seeds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time", default="210s", help="of each training")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--tiny", action="store_true", help="one seed, one step: does it run?")
    parser.add_argument("--name", default="", help="the first word of the results files; nothing is kept without one")
    parser.add_argument("options", nargs="*", help="further options of the training, KEY=VALUE")
    given = parser.parse_intermixed_args()
    from regard.api import merge
    from regard.cli.options import parse_pairs

    plan: dict[str, Any] = {
        "batch_tokens": 0,
        "batch_size": 512,
        "epochs": 2_000,  # more than there is time for: it is the time that ends the training
        "time": given.time,
        "lr": 4e-3,
        "warmup": 1_000,
        "graphs": True,
        "auto": False,
        "patience": 1_000,
        "workers": 0,
        "validate_every": 4_000,
        "max_validation": 5_000,
        "save_every": 1_000,
    }
    plan |= {"steps": 1, "max_validation": 64} if given.tiny else {}
    with tempfile.TemporaryDirectory() as folder:
        work = {}
        for name in given.sets.split(","):
            kind = SETS[name]
            data = data_of(name, given.data, folder)
            numbers = [int(one) for one in given.glimpses.split(",") if one] or kind["glimpses"]
            for number in numbers:
                seeds = 1 if given.tiny or number != numbers[-1] else given.seeds
                for seed in range(1, 1 + seeds):
                    options = {
                        "input": {"size": kind["size"], "colour": False},
                        "network": {
                            **kind["network"],
                            "glimpses": number,
                            "sigma": 0.25,
                            "paths": 1 if given.tiny else PATHS,
                        },
                        "train": {**plan, **kind["train"], "seed": seed},
                    }
                    run = str(Path(folder) / f"{name}-{number}-{seed}")
                    work[f"{name} {number} {seed}"] = (train, data, merge(options, parse_pairs(given.options)), run)
        rows: dict[str, dict[int, dict[int, dict[str, Any]]]] = {}
        for key, found in together(work, given.jobs):
            name, number, seed = key.split()
            rows.setdefault(name, {}).setdefault(int(number), {})[int(seed)] = found
            written(name, rows[name], given.name)


if __name__ == "__main__":
    main()
