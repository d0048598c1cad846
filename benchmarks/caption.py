"""Captions: Flickr8k with features of a pre-trained network, the built-in scenes, and speed beside a plain loop.

python benchmarks/caption.py flickr8k PATH --name caption_flickr8k --texts captions.json   # four models, three seeds
python benchmarks/caption.py scenes --name caption_scenes     # soft and hard: captions, and where they point
python benchmarks/caption.py speed --name caption_speed       # training images/s beside plain_caption.py
python benchmarks/caption.py pictures RUNS                    # those of docs/captions.md

PATH is a folder with Flickr8k.token.txt, the three lists and the pictures, as files or in a .zip (50 MB with pictures
of 128 pixels). Features are computed once (efficientnet_lite0, whose weights its package brings along), then all
trainings share the device, each in a process of its own (--jobs, --time), with beam 5 in the end: 12 of them, 7 minutes
each and a minute for the features, on one GPU with 16 cores. The record is written whenever a training has ended, and
with it the captions of the test set (--texts), for `coco_measures.py`. `scenes` trains its six runs in the same way (on
a GPU give them more: --time 400s train.epochs=40) and keeps those of the first seed in --runs, for `pictures`. RUNS is
a folder with the runs `soft` and `hard` of the scenes. `--tiny` makes everything small enough to try on a CPU.
"""

import argparse
import json
import os
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from plain_caption import PlainCaption
from record import record
from together import together

from regard import api
from regard.cli.options import parse_pairs
from regard.files import write_whole
from regard.measure.bleu4 import Bleu4
from regard.train.graphs import Graphs
from regard.train.step import step
from regard.types import Batch, Sequences

SHOW_AND_TELL = ["decoder=plain", "decoder.cell=lstm", "decoder.context=first"]
# Soft at first, and more and more drawn: then a draw is measured by another draw of the same picture.
HARD = ["attention.normalizer=sample", "reinforce.baseline=others", "reinforce.anneal=0.9", "reinforce.bonus=0.001"]
MODELS = {
    "soft": [],
    "hard": HARD,
    "show_and_tell": SHOW_AND_TELL,
    "transformer": ["decoder=transformer", "attention.score=scaled_dot"],
}
# Of all models on Flickr8k.
RECIPE = [
    *("train.auto=false", "train.batch_tokens=0", "train.batch_size=64", "train.epochs=20", "train.graphs=true"),
    *("train.workers=0", "train.validate_every=1000", "train.max_validation=1000", "train.save_every=1000"),
    *("target.tokenizer.min_frequency=5", "decoder.dropout=0.5", "label_smoothing=0.1"),
]
# Of the beam; the best by BLEU-4 of the validation set is taken. Publications of the time rank by the sum, which is 0.
LENGTH_PENALTIES = (0.0, 0.5, 1.0)
KEPT = ("bleu1", "bleu2", "bleu3", "bleu4", "brevity_penalty", "meteor", "rougeL", "cider_d", "exact_match")
POINTED = ("pointing", "attention_iou", "attention_mass", "pointing_chance")
docs = Path(__file__).resolve().parent.parent / "docs"
TINY = ["train.steps=4", "train.validate_every=4"]


def flickr8k(given: argparse.Namespace) -> dict[str, Any]:
    """Mean over the seeds, of each model."""
    with tempfile.TemporaryDirectory() as folder:
        path = unpacked(Path(given.path), Path(folder) / "data")
        kept = featured(path, 70 if given.tiny else 0)
        print(f"features of {kept:,} pictures", flush=True)
        options = ["image=pretrained", f"train.time={given.time}", *RECIPE]
        return trained(given, MODELS, [*options, *given.options], str(path), folder)


def unpacked(path: Path, folder: Path) -> Path:
    """The folder itself, or one with the same lists and the pictures of its .zip."""
    found = sorted(path.glob("*.zip"))
    if not found:
        return path
    with zipfile.ZipFile(found[0]) as file:
        file.extractall(folder / "pictures")
    for text in path.glob("*.txt"):
        (folder / text.name).write_bytes(text.read_bytes())
    return folder


def featured(path: Path, most: int) -> int:
    """Computes the features of all pictures (or of so many), once for all trainings."""
    from regard.fields.pretrained import Pretrained

    values = sorted(map(str, path.rglob("*.jpg")))[: most or None]
    field = Pretrained()
    field.fit(values)
    return len(field.encode(values, values))


def scenes(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        options = [f"train.time={given.time}", "train.workers=0", *given.options]
        return trained(given, {name: MODELS[name] for name in ("soft", "hard")}, options, "", given.runs or folder)


def trained(
    given: argparse.Namespace, models: dict[str, list[str]], options: list[str], data: str, folder: str
) -> dict[str, Any]:
    """Every model with every seed, side by side; recorded whenever one of them has ended."""
    work = {}
    for seed in range(1, 1 + (1 if given.tiny else given.seeds)):
        for name, own in models.items():
            pairs = parse_pairs([*own, *options, f"train.seed={seed}", *(TINY if given.tiny else [])])
            run = str(Path(folder) / (name if seed == 1 else f"{name}-{seed}"))
            work[f"{name} {seed}"] = (one, data, pairs, run)
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    figures: dict[str, Any] = {"cores": len(os.sched_getaffinity(0))}
    texts: dict[str, dict[str, str]] = {}
    for key, found in together(work, given.jobs or len(work)):
        name, seed = key.split()
        texts[key] = found.pop("texts", {})
        rows.setdefault(name, {})[int(seed)] = found
        each = [rows[name][number] for number in sorted(rows[name])]
        whole = [run for run in each if "failed" not in run]
        keys = dict.fromkeys(key for run in whole for key in run)
        figures[name] = {key: round(mean(run[key] for run in whole), 4) for key in keys} | {"each": each}
        if given.name:
            record(given.name, figures)
        if given.texts:
            write_whole(Path(given.texts), json.dumps(texts))
    return figures


def one(data: str, options: dict[str, Any], run: str) -> dict[str, Any]:
    """The measures on the test set with beam 5, how the training went, and the captions by the picture's name."""
    made = api.train("caption", data=data, out=run, quiet=True, fresh=True, **options)
    found = {"tested": made.tested, "epochs": round(made.outcome.epochs, 1), "seconds": round(made.outcome.seconds, 1)}
    assert made.results is not None
    results = made.results
    if data:
        splits, scores = made.model.data(), dict[float, float]()
        for penalty in LENGTH_PENALTIES:
            tried = made.model.results(splits.valid, length_penalty=penalty)
            scores[penalty] = float(Bleu4()(tried)["bleu4"])
        found["length_penalty"] = max(scores, key=lambda penalty: scores[penalty])
        results = made.model.results(splits.test, length_penalty=found["length_penalty"])
    measures = made.model.task.measure(results)
    found = {key: round(float(measures[key]), 4) for key in (*KEPT, *POINTED) if key in measures} | found
    return {**found, "texts": {Path(e.inputs[0]).name: p.text for e, p in results.pairs()}} if data else found


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
    graphs = Graphs(ours) if device.type == "cuda" else None
    learned = [torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device.type == "cuda") for model in (plain, ours)]

    def plain_step() -> None:
        before = torch.cat([torch.full_like(batch.target.values[:, :1], 2), batch.target.values[:, :-1]], 1)
        plain(batch.source.values, before, batch.target.values).backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        learned[0].step()
        learned[0].zero_grad(set_to_none=True)

    def our_step() -> None:
        step(ours, batch, learned[1], 0.5, clip=1.0, precision="auto", graphs=graphs)

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


def _ours(sizes: dict[str, int], channels: int, side: int, options: Mapping[str, Any] | None = None) -> Any:
    """The network of `regard train caption image=pretrained` in these sizes, without data or dropout."""
    task = api.make_task(
        api.configure(
            "caption",
            api.merge(
                {
                    "data": {"train": "flickr8k"},
                    "image": {"name": "pretrained", "embed": {"dim": sizes["dim"]}},
                    "decoder": {"embed": sizes["embed"], "hidden": sizes["hidden"], "dropout": 0.0},
                    "attention": {"score": {"name": "additive", "hidden": sizes["attention"]}},
                    "target": {"tokenizer": {"name": "word", "vocab_size": sizes["vocab"]}},
                },
                dict(options or {}),
            ),
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
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=0, help="trainings at a time; 0: all")
    parser.add_argument("--time", default="", help="of each training; by default 400s on Flickr8k, 170s on the scenes")
    parser.add_argument("--texts", default="", help="file for the captions of the test set, as JSON")
    parser.add_argument("--runs", default="", help="folder to keep the runs of the scenes in")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    parser.add_argument("options", nargs="*", help="further options of the training, KEY=VALUE")
    given = parser.parse_intermixed_args()
    if given.what in ("flickr8k", "pictures") and not given.path:
        parser.error(f"{given.what} needs a folder")
    if given.what == "scenes" and "=" in given.path:
        given.path, given.options = "", [given.path, *given.options]
    given.time = given.time or {"flickr8k": "400s"}.get(given.what, "170s")
    figures = {
        "flickr8k": lambda: flickr8k(given),
        "scenes": lambda: scenes(given),
        "speed": lambda: speed(given.tiny),
        "pictures": lambda: pictures(given.path),
    }[given.what]()
    print(json.dumps(figures, indent=2))
    if given.name:
        print(record(given.name, figures))


if __name__ == "__main__":
    main()
