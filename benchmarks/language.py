"""The Penn Treebank, word by word: test perplexity of LSTM language models, and how fast they learn.

    python benchmarks/language.py train DATA --jobs 6 --time 9m --tf32             # the recipes below, side by side
    python benchmarks/language.py train DATA --only wide_rows,weight_drop --out RUNS
    python benchmarks/language.py speed DATA --only wide_rows                      # seconds an epoch, and where they go

DATA is a folder with ptb.train.txt, ptb.valid.txt and ptb.test.txt (also .gz). Perplexity is a word's, the end of a
line counted as one, as in the papers. Options of regard may follow as key=value and hold for every recipe. Figures go
to results/NAME.json as they come, with the validation curve.

What an epoch costs: a GPU takes a step of an LSTM in nearly the same time for 20 rows as for 80, so an epoch takes
(tokens / rows) · (1 + context / window) steps in a row. More rows with shorter windows make as many updates in less
time. `train.validate_every` is several epochs, for a validation also writes the whole state.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from record import record
from together import together
from translate import wait

import regard
from regard.api import merge, prepare
from regard.cli.options import parse_pairs
from regard.data.batch import batches
from regard.train.device import device_of
from regard.train.step import step

BASE: dict[str, Any] = {
    "text": {"tokenizer": {"name": "word"}},
    "network": {"cell": "lstm", "layers": 2},
    "metrics": ["word_perplexity"],
    "train": {"batch_tokens": 0, "epochs": 150, "warmup": 200, "patience": 100, "max_validation": 4000, "auto": False},
}


def recipe(
    rows: int, window: int, context: int, rate: float, hidden: int, drops: tuple[float, ...], **train: Any
) -> dict[str, Any]:
    """`drops`: of what goes in, between layers, of what comes out, of the weights from state to state, of words."""
    names = ("input_dropout", "hidden_dropout", "output_dropout", "weight_dropout", "embedding_dropout")
    network = {"hidden": hidden, **dict(zip(names, drops, strict=False))}
    every = 3 * (929_589 // (rows * window) + 1)  # three epochs
    settings = {"batch_size": rows, "lr": rate, "validate_every": every, **train}
    return {"window": window, "context": context, "network": network, "train": settings}


# Press & Wolf's tied embeddings and one dropout mask a row are in all of them.
RECIPES: dict[str, dict[str, Any]] = {
    "wide_rows": recipe(64, 50, 25, 3e-3, 800, (0.5, 0.4, 0.5)),
    "weight_drop": recipe(64, 70, 35, 3e-3, 800, (0.5, 0.3, 0.5, 0.5, 0.1)),
    "larger": recipe(64, 50, 25, 2e-3, 1150, (0.6, 0.5, 0.6, 0.3)),
    "longer": recipe(64, 70, 70, 3e-3, 800, (0.5, 0.4, 0.5, 0.2)),
    "more_decay": recipe(64, 50, 25, 3e-3, 800, (0.5, 0.4, 0.5), weight_decay=0.05),
    "as_before": recipe(32, 100, 50, 2e-3, 800, (0.5, 0.4, 0.5)),
}


def options(name: str, given: argparse.Namespace) -> dict[str, Any]:
    folder = Path(given.data)
    paths = {part: folder / f"ptb.{part}.txt" for part in ("train", "valid", "test")}
    data = {part: str(path if path.exists() else path.with_name(path.name + ".gz")) for part, path in paths.items()}
    asked = merge(merge(BASE, RECIPES[name]), {"data": data, "train": {"time": given.time}})
    return merge(asked, parse_pairs(given.options))


def trained(asked: dict[str, Any], folder: str, tf32: bool) -> dict[str, Any]:
    """One training and its test."""
    _precision(tf32)
    done = regard.train("language", out=folder, quiet=True, **asked)
    log = [json.loads(line) for line in Path(folder, "log.jsonl").read_text().splitlines()]
    curve = [[one["epoch"], one["seconds"], round(one["valid"]["word_perplexity"], 2)] for one in log]
    return {
        "test": float(done.test["word_perplexity"]),
        "valid": float(done.outcome.best),
        "seconds": round(done.outcome.seconds, 1),
        "epochs": curve[-1][0],
        "steps": done.outcome.step,
        "tokens_per_second": round(done.outcome.per_second),
        "parameters": sum(p.numel() for p in done.model.network.parameters()),
        "curve": curve,  # epoch, seconds, perplexity of the validation set
    }


def _precision(tf32: bool) -> None:
    """cuDNN's LSTM takes TF32 by itself; this is for the one large product besides, with the vocabulary."""
    torch.set_float32_matmul_precision("high" if tf32 else "highest")


def train(given: argparse.Namespace) -> None:
    names = given.only.split(",") if given.only else list(RECIPES)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(given.out or scratch)
        out.mkdir(parents=True, exist_ok=True)
        work = {name: (trained, options(name, given), str(out / name), given.tf32) for name in names}
        for name, found in together(work, given.jobs):
            rows.append({"name": name, **found, "recipe": RECIPES[name]})
            print(f"      {found.get('curve')}", flush=True)
            first = min((row for row in rows if "test" in row), key=lambda row: row["valid"], default={})  # not by test
            settings = {"jobs": given.jobs, "time": given.time, "tf32": given.tf32, "options": given.options}
            record(given.name or "language", {"rows": rows, "best": first.get("test"), **settings})


def speed(given: argparse.Namespace) -> None:
    """A few steps of each recipe alone: what its host does beside, and how long an epoch would take."""
    _precision(given.tf32)
    rows = []
    for name in given.only.split(",") if given.only else list(RECIPES):
        ready = prepare("language", options(name, given))
        device, settings = device_of("auto"), ready.config["train"]
        model = ready.network.to(device).train()
        items = ready.task.items(ready.splits.train)
        order = batches([i.lengths for i in items], tokens=settings["tokens"], rows=settings["rows"], seed=1, epoch=0)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=device.type == "cuda")
        host = 0.0

        def steps(some: list[list[int]]) -> None:
            nonlocal host
            for one in some:
                began = time.perf_counter()
                batch = ready.task.collate([items[row] for row in one]).to(device)  # noqa: B023
                step(model, batch, optimiser, 1.0, clip=settings["clip"], precision="auto")  # noqa: B023
                host += time.perf_counter() - began  # until all is asked for, where the device does not hold it up

        steps(order[: given.steps // 4 + 1])
        host, began = 0.0, wait(device)
        steps(order[: given.steps])
        took = wait(device) - began
        found = {
            "milliseconds_a_step": round(1000 * took / given.steps, 2),
            "milliseconds_host": round(1000 * host / given.steps, 2),
            "steps_an_epoch": len(order),
            "seconds_an_epoch": round(took / given.steps * len(order), 1),
        }
        print(name, found, flush=True)
        rows.append({"name": name, **found})
        record(given.name or "language_speed", {"rows": rows, "steps": given.steps, "tf32": given.tf32})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "speed"))
    parser.add_argument("data")
    parser.add_argument("options", nargs="*", help="options of regard as key=value")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", default="9m", help="at most this for each training")
    parser.add_argument("--only", default="", help="these recipes, with commas between")
    parser.add_argument("--out", default="", help="keep the runs here")
    parser.add_argument("--steps", type=int, default=20, help="speed: so many")
    parser.add_argument("--tf32", action="store_true", help="the product with the vocabulary in TF32")
    parser.add_argument("--name", default="", help="how the file of results is called; else language, language_speed")
    given = parser.parse_intermixed_args()
    {"train": train, "speed": speed}[given.what](given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
