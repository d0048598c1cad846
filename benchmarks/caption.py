"""Captions: Flickr8k with features of a pre-trained network, the built-in scenes, and speed beside a plain loop.

python benchmarks/caption.py flickr8k PATH --name caption_flickr8k   # four models, three seeds, beam 5
python benchmarks/caption.py scenes --name caption_scenes            # soft and hard: captions, and where they point
python benchmarks/caption.py speed --name caption_speed              # training images/s beside plain_caption.py
python benchmarks/caption.py pictures RUNS                           # those of docs/captions.md

PATH is a folder with the pictures, Flickr8k.token.txt and the three lists. RUNS is a folder with the runs `soft` and
`hard` of the scenes. `--tiny` makes everything small enough to try on a CPU.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from first import timed
from plain_caption import PlainCaption
from record import record

from regard import api
from regard.train.step import step
from regard.types import Batch, Sequences

SHOW_AND_TELL = ["decoder=plain", "decoder.cell=lstm", "decoder.context=first"]
MODELS = {
    "soft": [],
    "hard": ["attention.normalizer=sample", "reinforce.bonus=0.002"],
    "show_and_tell": SHOW_AND_TELL,
    "transformer": ["decoder=transformer", "attention.score=scaled_dot"],
}
KEPT = ("bleu1", "bleu2", "bleu3", "bleu4", "meteor", "rougeL", "cider_d", "exact_match")
POINTED = ("pointing", "attention_iou", "attention_mass", "pointing_chance")
docs = Path(__file__).resolve().parent.parent / "docs"
TINY = ["train.steps=4", "train.validate_every=4"]


def flickr8k(path: str, tiny: bool) -> dict[str, Any]:
    """Mean over the seeds, of each model."""
    figures: dict[str, Any] = {}
    for name, options in MODELS.items():
        runs = [
            trained(["--data", path, "image=pretrained", f"train.seed={seed}", "--time", "10m", *options], tiny)
            for seed in ((1,) if tiny else (1, 2, 3))
        ]
        figures[name] = {key: round(mean(run[key] for run in runs), 2) for key in (*KEPT, "seconds")}
        figures[name]["each"] = runs
        print(json.dumps({name: figures[name]}, indent=2), flush=True)
    return figures


def scenes(tiny: bool) -> dict[str, Any]:
    figures: dict[str, Any] = {"cores": len(os.sched_getaffinity(0))}
    for name in ("soft", "hard"):
        figures[name] = trained(MODELS[name], tiny)
        print(json.dumps({name: figures[name]}, indent=2), flush=True)
    return figures


def trained(options: list[str], tiny: bool) -> dict[str, float]:
    """The measures on the test set with beam 5, and the seconds of the training command."""
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run")
        seconds, _ = timed("train", "caption", "--out", run, *options, *(TINY if tiny else []))
        measures = json.loads(timed("evaluate", run, "--beam", "5", "--json")[1])
    found = {key: round(float(measures[key]), 4) for key in (*KEPT, *POINTED) if key in measures}
    return {**found, "seconds": round(seconds, 1)}


def pictures(runs: str) -> dict[str, Any]:
    """Where both models look, on the first test picture with several shapes that soft attention describes truly."""
    models = {name: api.load(Path(runs) / name) for name in ("soft", "hard")}
    examples = models["soft"].data().test
    many = [one for one in examples if len(one.references) > 10]
    answers = models["soft"].predict([one.source for one in many])
    chosen = next(one for one, answer in zip(many, answers, strict=True) if answer.text in one.references)
    for name, model in models.items():
        model.predict([chosen.source])[0].look.save(docs / f"caption_{name}.png")
    return {name: model.predict([chosen.source])[0].text for name, model in models.items()}


def speed(tiny: bool) -> dict[str, Any]:
    """Training images (with a caption each) a second; both on the same features and captions, in turn."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"vocab": 50, "dim": 16, "embed": 16, "hidden": 16, "attention": 16} if tiny else {}
    sizes = sizes or {"vocab": 2_600, "dim": 512, "embed": 256, "hidden": 512, "attention": 256}
    rows, channels, side, words = (4, 8, 3, 5) if tiny else (64, 1280, 7, 12)
    rounds, steps = (1, 2) if tiny else (5, 40)
    batch = _batch(rows, side * side, channels, words, sizes["vocab"]).to(device)
    assert isinstance(batch.target, Sequences)
    plain = PlainCaption(channels=channels, **sizes).to(device)
    ours = _ours(sizes, channels, side).to(device)
    learned = torch.optim.AdamW(plain.parameters(), lr=1e-4), torch.optim.AdamW(ours.parameters(), lr=1e-4)

    def plain_step() -> None:
        before = torch.cat([torch.full_like(batch.target.values[:, :1], 2), batch.target.values[:, :-1]], 1)
        plain(batch.source.values, before, batch.target.values).backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        learned[0].step()
        learned[0].zero_grad(set_to_none=True)

    def our_step() -> None:
        step(ours, batch, learned[1], 0.5, clip=1.0, precision="auto")

    found: dict[str, list[float]] = {"plain": [], "regard": []}
    for _ in range(rounds):
        for name, one in (("plain", plain_step), ("regard", our_step)):
            for _ in range(max(1, steps // 8)):
                one()
            found[name].append(rows * steps / _seconds(one, steps, device))
    figures = {name: round(sorted(each)[len(each) // 2], 1) for name, each in found.items()}
    return {"images_per_second": figures, "times": round(figures["regard"] / figures["plain"], 2), "each": found}


def _seconds(one: Any, steps: int, device: torch.device) -> float:
    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    begun = now()
    for _ in range(steps):
        one()
    return now() - begun


def _batch(rows: int, places: int, channels: int, words: int, vocab: int) -> Batch:
    chance = torch.Generator().manual_seed(1)
    features = torch.rand(rows, places, channels, generator=chance)
    lengths = torch.randint(words // 2, words + words // 2, (rows,), generator=chance).tolist()
    captions = [[*torch.randint(4, vocab, (n,), generator=chance).tolist(), 3] for n in lengths]
    source = Sequences(features, torch.ones(rows, places, dtype=torch.bool), torch.full((rows,), places))
    return Batch((source,), Sequences.pad(captions))


def _ours(sizes: dict[str, int], channels: int, side: int) -> Any:
    """The network of `regard train caption image=pretrained` in these sizes, without data or dropout."""
    task = api.make_task(
        api.configure(
            "caption",
            {
                "data": {"train": "flickr8k"},
                "image": {"name": "pretrained", "embed": {"dim": sizes["dim"]}},
                "decoder": {"embed": sizes["embed"], "hidden": sizes["hidden"], "dropout": 0.0},
                "attention": {"score": {"name": "additive", "hidden": sizes["attention"]}},
                "target": {"tokenizer": {"name": "word", "vocab_size": sizes["vocab"]}},
            },
        )
    )
    task.source.restore({"shape": [side, side, channels], "identity": ""})
    task.target.fit([" ".join(f"w{n}" for n in range(sizes["vocab"] - 4))])
    return task.network().train()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["flickr8k", "scenes", "speed", "pictures"])
    parser.add_argument("path", nargs="?", default="", help="the folder of the data, or of the runs")
    parser.add_argument("--tiny", action="store_true", help="a few steps of small sizes, to try it")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    if given.what in ("flickr8k", "pictures") and not given.path:
        parser.error(f"{given.what} needs a folder")
    figures = {
        "flickr8k": lambda: flickr8k(given.path, given.tiny),
        "scenes": lambda: scenes(given.tiny),
        "speed": lambda: speed(given.tiny),
        "pictures": lambda: pictures(given.path),
    }[given.what]()
    print(json.dumps(figures, indent=2))
    if given.name:
        print(record(given.name, figures))


if __name__ == "__main__":
    main()
