"""Pre-training: what it is worth on a small set of labels, and how fast it is beside Hugging Face's Trainer.

    python benchmarks/pretrain.py lift DATA --jobs 6 --time 280s     # DATA holds snli, multi30k and ptb
    python benchmarks/pretrain.py lift DATA --size small --time 300s --seeds 1     # a try on a CPU
    python benchmarks/pretrain.py speed DATA --steps 100             # needs transformers and accelerate

`lift` pre-trains once on the sentences of SNLI's training pairs (without labels), the English side of Multi30k and the
Penn Treebank. Then it trains on 10,000 pairs of SNLI with each seed: from that run (`started`), the same network from
scratch (`scratch`), and regard's own defaults from scratch (`defaults`). Every training ends by patience or epochs; the
best weights on the development set are tested.

`speed` trains the same windows of 128 tokens with the same sizes, batch, precision and optimizer: ours and Trainer with
BertForMaskedLM, turn and turn about, and counts tokens read a second.
"""

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch
from record import record

from regard import api
from regard.find import find
from regard.train.device import device_of
from regard.train.step import step
from regard.train.task import Encoded
from regard.types import Example

PAIRS = 10_000
PLAIN = ("multi30k/tok/train.en.gz", "ptb/ptb.train.txt.gz")  # more text, beside the sentences of SNLI
SIZES = {
    "small": {"size": 128, "layers": 2, "heads": 4, "ffn": 512},
    "base": {"size": 256, "layers": 4, "heads": 4, "ffn": 1024},
    "large": {"size": 512, "layers": 6, "heads": 8, "ffn": 2048},
}
# What is the same for both: how the pair is compared, and how long it may be learned.
PAIR = ["pool=max", "match=distance", "dropout=0.1", "train.batch_tokens=0", "train.batch_size=64", "train.epochs=12",
        "train.patience=4", "train.warmup=200", "train.decay=linear", "train.ema=0.99"]  # fmt: skip
# Each way is tried at these peak learning rates; the best on the development set counts.
RATES = {"started": (2e-4, 5e-4), "scratch": (5e-4, 1e-3)}


def lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def prepare(data: Path, folder: Path, pairs: int) -> None:
    """The text without labels, and the pairs with theirs: premise, hypothesis, label."""
    names = [*(f"snli/{part}.tsv.gz" for part in ("train", "dev", "test")), *PLAIN]
    if missing := [name for name in names if not (data / name).exists()]:
        raise SystemExit(f"not in {data}: {', '.join(missing)}")
    rows = [line.split("\t") for line in lines(data / "snli" / "train.tsv.gz")]
    texts = dict.fromkeys(text for _, *both in rows for text in both)
    for name in PLAIN:
        texts |= dict.fromkeys(line.strip() for line in lines(data / name))
    (folder / "text.txt").write_text("".join(f"{text}\n" for text in texts if text), encoding="utf-8")
    parts = {"train": rows[:pairs]}
    parts |= {part: [line.split("\t") for line in lines(data / "snli" / f"{part}.tsv.gz")] for part in ("dev", "test")}
    for part, some in parts.items():
        text = "".join(f"{premise}\t{hypothesis}\t{label}\n" for label, premise, hypothesis in some)
        (folder / f"{part}.tsv").write_text(text, encoding="utf-8")


def regard(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "regard", *words], check=True, stdout=subprocess.DEVNULL)


def pretrained(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    sizes = [f"encoder.{key}={value}" for key, value in SIZES[given.size].items()]
    began = time.monotonic()
    regard(
        "train", "pretrain", "--data", str(folder / "text.txt"), "--out", str(folder / "pretrained"), "--quiet",
        "--time", given.time, "running=false", "text.tokenizer=word", "text.tokenizer.lower=true",
        "text.tokenizer.min_frequency=3", f"text.embed.dim={SIZES[given.size]['size']}", "encoder=transformer", *sizes,
        f"train.lr={given.lr}", f"train.batch_tokens={given.batch_tokens}", "train.epochs=200", "train.warmup=500",
        "train.decay=linear", "train.ema=0.99",
    )  # fmt: skip
    events = [json.loads(line) for line in lines(folder / "pretrained" / "log.jsonl")]
    best = min(event["valid"]["perplexity"] for event in events)
    return {"seconds": round(time.monotonic() - began), "perplexity": best, "epochs": events[-1]["epoch"]}


def learned(folder: Path, way: str, rate: float, seed: int, given: argparse.Namespace) -> dict[str, float]:
    out = folder / f"{way}-{rate}-{seed}"
    parts = {"train": "train", "valid": "dev", "test": "test"}
    words = ["train", "entail", "--out", str(out), "--quiet", f"train.seed={seed}"]
    words += [f"data.{part}={folder / file}.tsv" for part, file in parts.items()]
    if way != "defaults":
        words += [*PAIR, f"head.hidden={SIZES[given.size]['size']}", f"train.lr={rate}"]
    if way == "started":
        words += ["--start", str(folder / "pretrained")]
    elif way == "scratch":
        sizes = [f"encoder.{key}={value}" for key, value in SIZES[given.size].items()]
        words += ["input.tokenizer=word", "input.tokenizer.lower=true", "input.tokenizer.min_frequency=2",
                  f"input.embed.dim={SIZES[given.size]['size']}", "encoder=transformer", *sizes]  # fmt: skip
    began = time.monotonic()
    try:
        regard(*words)
    except subprocess.CalledProcessError as error:  # the others go on
        print(f"{way}, rate {rate}, seed {seed}: exit code {error.returncode}", flush=True)
        return {}
    model = api.load(out)
    test = model.evaluate(str(folder / "test.tsv"))
    events = [json.loads(line) for line in lines(out / "log.jsonl")]
    found = {"valid": max(event["valid"]["accuracy"] for event in events), "test": float(test["accuracy"])}
    print(f"{way}, rate {rate}, seed {seed}: {found}, {time.monotonic() - began:.0f} s", flush=True)
    return found


def lift(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    prepare(Path(given.data), folder, given.pairs)
    figures: dict[str, Any] = {"pretraining": pretrained(folder, given), "pairs": given.pairs, "size": given.size}
    print(figures, flush=True)
    work = [(way, rate, seed) for seed in range(1, given.seeds + 1) for way, some in RATES.items() for rate in some]
    work += [("defaults", 0.0, seed) for seed in range(1, given.seeds + 1)]
    found: dict[tuple[str, float, int], dict[str, float]] = {}
    with ThreadPoolExecutor(given.jobs) as jobs:
        running = {jobs.submit(learned, folder, *one, given): one for one in work}
        for done in as_completed(running):
            found[running[done]] = done.result()
            lifted = {**figures, **compared(found)}
            if given.name:  # whatever becomes of the rest
                record(given.name, lifted)
    return lifted


def compared(found: Mapping[tuple[str, float, int], Mapping[str, float]]) -> dict[str, Any]:
    """Of each way the rate that is best on the development data, and its tests; what failed is left out."""
    figures: dict[str, Any] = {}
    for way, rates in {**RATES, "defaults": (0.0,)}.items():
        each = {
            rate: [one for (w, r, _), one in sorted(found.items()) if (w, r) == (way, rate) and one] for rate in rates
        }
        each = {rate: some for rate, some in each.items() if some}
        if each:
            best = max(each, key=lambda rate: statistics.mean(one["valid"] for one in each[rate]))
            scores = [one["test"] for one in each[best]]
            figures[way] = {"lr": best, "test": scores, "mean": statistics.mean(scores)}
    if {"started", "scratch"} <= {*figures}:
        figures["lift"] = figures["started"]["mean"] - figures["scratch"]["mean"]
    return figures


# --- speed ---------------------------------------------------------------------------------------------------


def windows(folder: Path, time_: int) -> tuple[Any, list[list[int]]]:
    """The task with its tokenizer, and windows of running text that are all of one length."""
    kind = find("tasks", "pretrain")
    sizes = SIZES["base"]
    task = kind(
        text={"tokenizer": {"name": "word", "lower": True, "min_frequency": 3}, "embed": {"dim": sizes["size"]}},
        encoder={"name": "transformer", "positions": "learned", **sizes}, window=time_,
    )  # fmt: skip
    examples = [Example((line,), "") for line in lines(folder / "text.txt")]
    task.learn(examples)
    rows = [item.inputs[0] for item in task.items(examples)]
    return task, [row for row in rows if len(row) == time_]


def ours(task: Any, rows: list[list[int]], given: argparse.Namespace, device: torch.device) -> float:
    """Tokens a second of the training step, masking and copying included."""
    model = task.network().to(device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=device.type == "cuda")

    def batch(number: int) -> Any:
        some = [rows[(number * given.rows + row) % len(rows)] for row in range(given.rows)]
        items = [Encoded((one,), (1, 1, number * given.rows + row), (len(one),)) for row, one in enumerate(some)]
        return task.collate(items).to(device)

    def run(first: int, steps: int) -> None:
        for number in range(first, first + steps):
            step(model, batch(number), optimiser, 0.5, clip=1.0, precision=given.precision)

    return timed(run, given, device)


def theirs(task: Any, rows: list[list[int]], given: argparse.Namespace, device: torch.device) -> float:
    """The same with Trainer, whose collator masks; the time between two steps of a callback."""
    from transformers import BertConfig, BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments

    sizes = SIZES["base"]
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(task.text), hidden_size=sizes["size"], num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"], intermediate_size=sizes["ffn"], max_position_embeddings=given.time_,
        )
    )  # fmt: skip

    def collate(some: list[list[int]]) -> dict[str, torch.Tensor]:
        ids = torch.tensor(some)
        labels, chance = ids.clone(), torch.rand(ids.shape)
        chosen = chance < 0.15
        labels[~chosen] = -100
        how = torch.rand(ids.shape)
        ids[chosen & (how < 0.8)] = task.text.mask
        random = chosen & (how >= 0.8) & (how < 0.9)
        ids[random] = torch.randint(4, len(task.text), (int(random.sum()),))
        return {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}

    moments: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (given.warm, given.warm + given.steps):
                if device.type == "cuda":
                    torch.cuda.synchronize()
                moments.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=given.rows, max_steps=given.warm + given.steps, learning_rate=5e-4,
            bf16=given.precision == "bf16", optim="adamw_torch_fused" if device.type == "cuda" else "adamw_torch",
            report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
            remove_unused_columns=False, use_cpu=device.type == "cpu", dataloader_num_workers=given.workers,
        )  # fmt: skip
        some: Any = rows * (1 + (given.warm + given.steps) * given.rows // len(rows))
        Trainer(model, arguments, train_dataset=some, data_collator=collate, callbacks=[Clock()]).train()
    return given.steps * given.rows * given.time_ / (moments[1] - moments[0])


def timed(run: Any, given: argparse.Namespace, device: torch.device) -> float:
    run(0, given.warm)
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    run(given.warm, given.steps)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return float(given.steps * given.rows * given.time_ / (time.perf_counter() - began))


def speed(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    __import__("transformers")  # rather now than after ours
    __import__("accelerate")
    prepare(Path(given.data), folder, given.pairs)
    task, rows = windows(folder, given.time_)
    device = device_of("auto")
    figures: dict[str, Any] = {"tokens_per_second": {"ours": [], "theirs": []}}
    for _ in range(given.rounds):
        for name, work in (("ours", ours), ("theirs", theirs)):
            figures["tokens_per_second"][name].append(round(work(task, rows, given, device)))
            print(name, figures["tokens_per_second"][name][-1], flush=True)
    medians = {name: statistics.median(some) for name, some in figures["tokens_per_second"].items()}
    return figures | {"ratio": medians["ours"] / medians["theirs"], "rows": given.rows, "time": given.time_,
                      "precision": given.precision, "vocab": len(task.text), **SIZES["base"]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["lift", "speed"])
    parser.add_argument("data", help="the folder that holds snli, multi30k and ptb")
    parser.add_argument("--size", choices=list(SIZES), default="base", help="of the encoder (lift)")
    parser.add_argument("--time", default="280s", help="for pre-training (lift)")
    parser.add_argument("--lr", type=float, default=1e-3, help="of pre-training (lift)")
    parser.add_argument("--batch-tokens", type=int, default=16_384, help="of pre-training (lift)")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="with labels (lift)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time (lift)")
    parser.add_argument("--steps", type=int, default=100, help="that are timed (speed)")
    parser.add_argument("--warm", type=int, default=20, help="steps before them (speed)")
    parser.add_argument("--rounds", type=int, default=3, help="of both, turn and turn about (speed)")
    parser.add_argument("--rows", type=int, default=256, help="windows of a batch (speed)")
    parser.add_argument("--window", type=int, default=128, dest="time_", help="tokens of a window (speed)")
    parser.add_argument("--workers", type=int, default=4, help="of Trainer's loader (speed)")
    parser.add_argument("--precision", choices=["bf16", "float32"], default="bf16")
    parser.add_argument("--out", default="", help="keep the runs here (lift)")
    parser.add_argument("--name", default="", help="record the figures under this name")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.out or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = (lift if given.what == "lift" else speed)(given, folder)
    print(json.dumps(figures, indent=2))
    if given.name:
        record(given.name, figures)


if __name__ == "__main__":
    main()
