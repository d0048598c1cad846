"""Translation, measured: BLEU on Multi30k de→en, training speed, decoding speed.

    python benchmarks/translate.py train DATA        the recipe below, to its end: BLEU on val and test, time, tokens/s
    python benchmarks/translate.py speed DATA        tokens/s of training at JoeyNMT's sizes and batch
    python benchmarks/translate.py decode DATA RUN   seconds for the test sentences at beam 5, without and with looks

DATA is a folder with train.de, val.de, test_2016_flickr.de and the same in en (also .gz), tokenised and
lower-cased. Options of regard may follow as key=value. Figures go to results/NAME.json (`--name`).
"""

import argparse
import copy
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from record import record

import regard
from regard.api import Trained, merge, prepare
from regard.cli.options import parse_pairs
from regard.data.batch import batches
from regard.train.device import device_of
from regard.train.step import step

# The defaults of the task, which were chosen on Multi30k's validation set (docs/LOG.md), with targets as they are.
RECIPE: dict[str, Any] = {
    "target": {"tokenizer": {"name": "bpe", "vocab_size": 6000}},
    "best_metric": "bleu",
    "metrics": [{"name": "bleu", "tokenize": "none"}, "perplexity", "token_accuracy"],
    "train": {"epochs": 60, "batch_tokens": 8192, "lr": 2e-3, "patience": 15, "auto": False},
}

# JoeyNMT's RNN of the comparison: GRU 256/512 both ways, Bahdanau's score, input feeding, batches of 64 sentences.
JOEY: dict[str, Any] = {
    "source": {"tokenizer": {"name": "bpe", "vocab_size": 8000}, "embed": {"dim": 256}},
    "target": {"tokenizer": {"name": "bpe", "vocab_size": 8000}},
    "encoder": {"name": "recurrent", "hidden": 512, "layers": 1, "dropout": 0.0},
    "decoder": {"name": "recurrent", "embed": 256, "hidden": 512, "place": "after", "feed": True, "tie": False},
    "attention": {"score": {"name": "additive", "hidden": 512}},
    "train": {"batch_size": 64, "batch_tokens": 0, "auto": False},
}


def options(base: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    data = {"train": arguments.data, "source": "de", "target": "en"}
    return merge(merge(copy.deepcopy(base), {"data": data}), parse_pairs(arguments.options))


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    began = time.monotonic()
    asked = options(RECIPE, arguments)
    done = regard.train("translate", out=arguments.run, fresh=True, **asked)
    whole = time.monotonic() - began
    valid = done.model.evaluate(done.model.data().valid)
    return {
        "bleu": done.test["bleu"],
        "bleu_signature": done.test["bleu_signature"],
        "valid_bleu": valid["bleu"],
        "perplexity": done.test["perplexity"],
        "seconds": round(done.outcome.seconds, 1),
        "seconds_with_reading_and_test": round(whole, 1),
        "tokens_per_second": round(done.outcome.per_second),
        "steps": done.outcome.step,
        "parameters": sum(p.numel() for p in done.model.network.parameters()),
        "options": arguments.options,
    }


def trained(done: Trained) -> dict[str, Any]:
    """The scores and the course of a training."""
    return {
        "bleu": float(done.test["bleu"]),
        "valid_bleu": done.outcome.best,
        "perplexity": float(done.test["perplexity"]),
        "steps": done.outcome.step,
        "seconds": round(done.outcome.seconds, 1),
        "tokens_per_second": round(done.outcome.per_second),
    }


def wait(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def speed(arguments: argparse.Namespace) -> dict[str, Any]:
    """Steps of real training (collating, loss, clipping, AdamW), after a warm-up; padding does not count as tokens."""
    ready = prepare("translate", options(JOEY, arguments))
    device, settings = device_of("auto"), ready.config["train"]
    model = ready.network.to(device).train()
    items = ready.task.items(ready.splits.train)
    order = batches(
        [i.lengths for i in items], tokens=settings["batch_tokens"], rows=settings["batch_size"], seed=1, epoch=0
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=device.type == "cuda")

    def counted(rows: list[int]) -> int:
        batch = ready.task.collate([items[row] for row in rows]).to(device)
        return step(model, batch, optimiser, 1.0, clip=1.0, precision=settings["precision"]).count

    for rows in order[:10]:
        counted(rows)
    began = wait(device)
    tokens = sum(counted(rows) for rows in order[10 : 10 + arguments.steps])
    took = wait(device) - began
    return {
        "tokens_per_second": round(tokens / took),
        "steps": arguments.steps,
        "milliseconds_a_step": round(1000 * took / arguments.steps, 2),
        "parameters": sum(p.numel() for p in model.parameters()),
        "peak_gpu_mib": round(torch.cuda.max_memory_allocated() / 2**20) if device.type == "cuda" else None,
        "threads": torch.get_num_threads(),
        "options": arguments.options,
    }


def decode(arguments: argparse.Namespace) -> dict[str, Any]:
    model = regard.load(arguments.run)
    sources = [example.source for example in model.data().test]
    device = next(model.network.parameters()).device
    times: dict[str, list[float]] = {"plain": [], "with_alignments": []}
    for _ in range(arguments.repeats + 1):  # the first round warms up
        for kind in times:
            began = wait(device)
            model.predict(sources, look=kind == "with_alignments", beam_size=5)
            times[kind].append(wait(device) - began)
    return {
        "sentences": len(sources),
        "beam": 5,
        **{f"seconds_{kind}": round(statistics.median(t[1:]), 3) for kind, t in times.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "speed", "decode"])
    parser.add_argument("data")
    parser.add_argument("options", nargs="*", help="options of regard as key=value")
    parser.add_argument("--run", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_intermixed_args()
    figures = {"train": train, "speed": speed, "decode": decode}[arguments.what](arguments)
    for name, value in figures.items():
        print(f"{name}: {value}")
    if arguments.name:
        print(record(arguments.name, figures))


if __name__ == "__main__":
    main()
