"""Question answering: little stories, bAbI, SQuAD 1.1 and cloze questions made from it; questions/s, memory by length.

    python benchmarks/answer.py stories --name answer_stories                     # nothing given, 2 cores
    python benchmarks/answer.py babi DATA/babi --name answer_babi                 # en.zip; tasks 1, 4, 6 and 12
    python benchmarks/answer.py cloze DATA/squad GLOVE --name answer_cloze        # two readers, three seeds
    python benchmarks/answer.py pack DATA/squad GLOVE SPACY --out packed          # for another machine: 32 MiB
    python benchmarks/answer.py squad packed --time 1040s --stop 530 --keep runs             # half of 20 minutes,
    python benchmarks/answer.py squad packed --time 1040s --keep runs --name answer_squad    # and the rest
    python benchmarks/answer.py speed packed --keep runs --name answer_speed      # questions/s, memory by length
    python benchmarks/answer.py speed packed --keep runs --device cpu --questions 1000 --name answer_speed_cpu

`pack` copies train.json.gz and dev.json.gz and writes one file of vectors: GLOVE (glove.6B.100d.txt.gz) and SPACY
(spacy.en_md.300d.txt.gz) side by side, cut to the words of SQuAD and to half precision. `squad` trains all models at
once on one device (--jobs); --models picks some. With --stop a call ends after so many seconds, and the same call
without it resumes all of them where they stopped, so that both together train for --time; the full development set is
answered after that, in about a minute. The machine has to keep the folder of the runs between the two. The record is
written whenever a model is done. The best weights are chosen on the first 1,000 questions of the development set, as
papers did. `--tiny` checks any of them in a few minutes.

Models: `dcn` is the published network. `dcn_overlap` also tells each word whether it is in both texts, and `dcn_deep`
reads both texts with two layers in both directions besides.

Cloze questions are made from SQuAD's paragraphs: where a sentence holds a name that also occurs elsewhere in its
paragraph, the question is this sentence with XXXXX in place of the name (the first such name of the sentence), and the
document is the rest of the paragraph. A name is a capitalised word that does not begin a sentence.
"""

import argparse
import gzip
import json
import os
import re
import signal
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from record import record
from together import spread, together

BABI = (1, 4, 6, 12)
HIDDEN = 200
CELL = {"name": "lstm", "hidden": HIDDEN}
AGAIN = {"name": "bilstm", "hidden": HIDDEN}
DCN: dict[str, Any] = {
    "encoder": CELL,
    "again": AGAIN,
    "interact": "coattention",
    "point": {"name": "dynamic", "hidden": HIDDEN, "pool": 16},
    "overlap": False,
    "dropout": 0.3,
}
TRANSFORMER = {"name": "transformer", "size": 256, "layers": 4, "heads": 8, "ffn": 1024, "positions": "rotary"}
TRANSFORMER |= {"scale_embedding": False, "dropout": 0.3}  # the word vectors come from a file, at their own size
# Exact match and F1 of one model on the development set, in percent: Xiong et al. 2016, table 2.
PUBLISHED = {"dcn": (65.4, 75.6)}
MODELS: dict[str, dict[str, Any]] = {
    "dcn": DCN,
    "dcn_overlap": {**DCN, "overlap": True},
    "bilstm": {**DCN, "encoder": AGAIN, "interact": "attention", "point": "linear"},
    "transformer": {
        **DCN,
        "encoder": TRANSFORMER,
        "again": "identity",
        "interact": "concatenation",
        "point": "linear",
        "overlap": True,
        "train": {"lr": 5e-4},
    },
    "dcn_deep": {**DCN, "encoder": {**AGAIN, "layers": 2, "dropout": 0.3}, "overlap": True},
    "no_coattention": {**DCN, "interact": "attention"},
    "no_iteration": {**DCN, "point": {**DCN["point"], "turns": 1}},
    "no_sentinel": {**DCN, "interact": {"name": "coattention", "sentinel": False}},
}
READERS = ("attention_over_attention", "attention_sum")


def train(data: Any, options: dict[str, Any], folder: str, fresh: bool = True, stop: float = 0.0) -> dict[str, Any]:
    """The measures of one training on its test set (without one, on all of valid), and how the training went. After
    `stop` seconds it is interrupted, and can be resumed."""
    from regard import api

    if stop:
        timer = threading.Timer(stop, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()
    done = api.train("answer", data=data, out=folder, quiet=True, fresh=fresh, **options)
    if stop:
        timer.cancel()
    if done.outcome.stopped is not None:
        return {"stopped_at_step": done.outcome.step, "seconds": done.outcome.seconds}
    held = done.splits.test or done.splits.valid
    begun = time.monotonic()
    results = done.model.results(held)
    seconds = time.monotonic() - begun
    measured = done.model.task.measure(results)
    return {
        **{name: value for name, value in measured.items() if isinstance(value, float)},
        "epochs": done.outcome.epochs,
        "seconds": done.outcome.seconds,
        "trained_per_second": done.outcome.per_second,
        "answered_per_second": len(held) / seconds,
        "questions": len(held),
    }


def stories(tiny: bool) -> dict[str, Any]:
    """Nothing given: the whole command, and where attention lies."""
    import subprocess
    import sys

    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        words = ["train", "answer", "--out", f"{folder}/run", *(["train.steps=2"] if tiny else [])]
        subprocess.run([sys.executable, "-m", "regard", *words], check=True, capture_output=True)
        seconds = time.monotonic() - begun
        from regard import api

        model = api.load(f"{folder}/run", "cpu")
        test = model.data().test[: 50 if tiny else None]
        measured = model.task.measure(model.results(test))
        begun = time.monotonic()
        model.predict([one.inputs for one in test], look=False)
        return {**measured, "whole_seconds": seconds, "answered_per_second": len(test) / (time.monotonic() - begun)}


def needs(*paths: Path) -> None:
    """Ends at once where a file is missing."""
    if missing := [str(path) for path in paths if not path.exists()]:
        raise SystemExit(f"not found: {', '.join(missing)}")


def babi(folder: Path, tiny: bool, seeds: int, jobs: int) -> dict[str, Any]:
    """1,000 training questions of each task, the official test set."""
    small = {
        "answer": "choice",
        "encoder": {"name": "bigru", "hidden": 48},
        "input": {"embed": {"dim": 48}},
        "dropout": 0.1,
    }
    plan = {"auto": False, "batch_tokens": 0, "batch_size": 32, "lr": 4e-3, "warmup": 50, "ema": 0.99, "epochs": 30}
    plan |= {"patience": 1000, "threads": 1, "device": "cpu"} | ({"steps": 2} if tiny else {})
    work = {}
    needs(folder / "en.zip")
    with tempfile.TemporaryDirectory() as place:
        zipfile.ZipFile(folder / "en.zip").extractall(place)
        for task in BABI:
            train_file, test_file = (
                str(next(Path(place).glob(f"qa{task}_*_{part}.txt"))) for part in ("train", "test")
            )
            for seed in range(1, 1 + (1 if tiny else seeds)):
                options = {**small, "train": {**plan, "seed": seed}}
                work[f"{task} {seed}"] = (
                    train,
                    {"train": train_file, "test": test_file},
                    options,
                    f"{place}/{task}-{seed}",
                )
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for key, one in together(work, jobs):
            task_name, seed_name = key.split()
            found.setdefault(task_name, {})[int(seed_name)] = one
    return {task: spread(rows) for task, rows in sorted(found.items(), key=lambda one: int(one[0]))}


SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")  # not the first word of a sentence, nor of a quotation


def cloze_of(path: Path) -> list[dict[str, Any]]:
    """Cloze questions from paragraphs of SQuAD, as the docstring above says."""
    whole, rows = json.loads(gzip.decompress(path.read_bytes())), []
    for article in whole["data"]:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            ends = [0, *(found.end() for found in SENTENCE.finditer(text)), len(text)]
            for begin, stop in pairwise(ends):
                document = f"{text[:begin]}{text[stop:]}".strip()
                for name in NAME.finditer(text[begin:stop]):
                    if re.search(rf"\b{name[0]}\b", document):
                        question = f"{text[begin:stop][: name.start()]}XXXXX{text[begin:stop][name.end() :]}".strip()
                        rows.append({"document": document, "question": question, "answer": name[0]})
                        break
    return rows


def cloze(
    folder: Path, vectors: Path, tiny: bool, seeds: int, jobs: int, done: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Attention over attention beside the plain attention reader: the same data, sizes, steps and seeds."""
    needs(folder / "train.json.gz", folder / "dev.json.gz", vectors)
    small = {
        "answer": "choice",
        "encoder": {"name": "bigru", "hidden": 64},
        "input": {"embed": {"vectors": str(vectors), "max_vectors": 0, "dropout": 0.2}},
        "dropout": 0.2,
        "metrics": ["cloze_accuracy", "mrr", "loss"],
    }
    plan = {"auto": False, "batch_tokens": 0, "batch_size": 32, "lr": 2e-3, "warmup": 100, "ema": 0.99, "steps": 600}
    plan |= {"validate_every": 200, "max_validation": 500, "threads": 1, "device": "cpu", "patience": 1000}
    plan |= {"steps": 2, "max_validation": 40} if tiny else {}
    with tempfile.TemporaryDirectory() as place:
        count = {}
        for part in ("train", "dev"):
            rows = cloze_of(folder / f"{part}.json.gz")
            Random(1).shuffle(rows)
            rows = rows[: 200 if tiny else {"train": 20_000, "dev": 2_000}[part]]
            count[part] = len(rows)
            (Path(place) / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        data = {"train": f"{place}/train.jsonl", "test": f"{place}/dev.jsonl"}
        work = {
            f"{reader} {seed}": (
                train,
                data,
                {**small, "interact": reader, "train": {**plan, "seed": seed}},
                f"{place}/{reader}-{seed}",
            )
            for seed in range(1, 1 + (1 if tiny else seeds))
            for reader in READERS
        }
        found: dict[str, dict[int, dict[str, Any]]] = {}
        figures: dict[str, Any] = {"steps": plan["steps"], "questions": count}
        for key, one in together(work, jobs):
            reader, seed_name = key.split()
            found.setdefault(reader, {})[int(seed_name)] = one
            done(figures | {name: spread(rows) for name, rows in found.items()})
    figures |= {name: spread(rows) for name, rows in found.items()}
    if set(READERS) <= {*figures}:
        over, plain = (mean(figures[name]["cloze_accuracy"]) for name in READERS)
        figures["ahead"] = over - plain
    return figures


def pack(squad: Path, vectors: list[Path], out: Path) -> None:
    """SQuAD as it is, and the vectors of its words, written short: three digits that count are half precision's."""
    import shutil

    import torch

    from regard.fields._vectors import read_vectors, side_by_side

    needs(squad / "train.json.gz", squad / "dev.json.gz", *vectors)
    out.mkdir(parents=True, exist_ok=True)
    words: set[str] = set()
    for part in ("train", "dev"):
        shutil.copyfile(squad / f"{part}.json.gz", out / f"{part}.json.gz")
        text = gzip.decompress((squad / f"{part}.json.gz").read_bytes()).decode()
        words |= set(re.findall(r"\w+|[^\w\s]", text.lower()))
    found = side_by_side([read_vectors(str(path), words, 0) for path in vectors])
    kept = [number for number, word in enumerate(found.words) if word in words]
    rows = found.matrix[torch.tensor(kept)].half()
    with gzip.open(out / "vectors.txt.gz", "wt", compresslevel=9) as file:
        for number, row in zip(kept, rows.tolist(), strict=True):
            file.write(f"{found.words[number]} {' '.join(f'{value:.3g}' for value in row)}\n")
    size = sum(path.stat().st_size for path in out.iterdir()) / 2**20
    print(f"{len(kept):,} words with vectors of {rows.shape[1]}; {size:.1f} MiB in {out}")


def squad(
    folder: Path,
    models: list[str],
    tiny: bool,
    jobs: int,
    seconds: str,
    stop: float,
    keep: Path,
    device: str,
    done: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """All models at once; what was trained before in `keep` is resumed. `done` is told the figures so far whenever a
    model is finished."""
    if unknown := sorted({*models} - {*MODELS}):
        raise SystemExit(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    files = [folder / name for name in ("train.json.gz", "dev.json.gz", "vectors.txt.gz")]
    needs(*files)
    plan: dict[str, Any] = {
        "auto": False, "batch_tokens": 0, "batch_size": 128, "lr": 1.5e-3, "warmup": 300, "ema": 0.999, "epochs": 30,
        "time": seconds, "patience": 1000, "max_validation": 1000, "device": device, "decay": "linear",
    }  # fmt: skip
    data: dict[str, Any] = {"train": str(files[0]), "valid": str(files[1])}
    vectors = {"vectors": str(files[2]), "mode": "missing", "max_vectors": 100_000, "dropout": 0.2}
    words = {"name": "word", "lower": True, "split": "punctuation", "vocab_size": 100_000, "min_frequency": 2}
    reading: dict[str, Any] = {"embed": vectors, "tokenizer": words}
    if tiny:
        plan |= {"steps": 2, "batch_size": 2, "max_validation": 4, "time": "10m"}
        data |= {"train": _few(files[0], keep), "valid": _few(files[1], keep)}
        vectors["max_vectors"] = 100
    work = {}
    for name in models:
        options = {**MODELS[name], "input": reading, "train": {**plan, **MODELS[name].get("train", {})}}
        work[name] = (train, data, options, str(keep / name), False, stop)
    found: dict[str, Any] = {}
    for name, one in together(work, jobs):
        found[name] = {**one, "published": PUBLISHED.get(name)}
        done(found)
    return found


def _few(path: Path, keep: Path) -> str:
    """The first paragraphs of a file of SQuAD."""
    whole = json.loads(gzip.decompress(path.read_bytes()))
    whole["data"] = [{**whole["data"][0], "paragraphs": whole["data"][0]["paragraphs"][:3]}]
    keep.mkdir(parents=True, exist_ok=True)
    made = keep / f"few-{path.name.removesuffix('.gz')}"
    made.write_text(json.dumps(whole))
    return str(made)


LENGTHS = (100, 200, 400, 800, 1600)


def speed(folder: Path, tiny: bool, keep: Path, device: str, questions: int) -> dict[str, Any]:
    """Questions/s of the trained dcn over the development set, and the peak memory of a training step by length."""
    from regard import api

    needs(keep / "dcn", folder / "dev.json.gz")
    model = api.load(keep / "dcn", device)
    examples, _ = model.examples(_few(folder / "dev.json.gz", keep) if tiny else str(folder / "dev.json.gz"))
    texts = [one.inputs for one in examples][: questions or None]
    model.predict(texts[:64], look=False)
    begun = time.monotonic()
    model.predict(texts, look=False)
    found: dict[str, Any] = {"questions_per_second": len(texts) / (time.monotonic() - begun), "questions": len(texts)}
    found["device"] = next(model.network.parameters()).device.type
    del model
    rows = 2 if tiny else 32
    work = {str(size): (_memory, keep / "dcn", device, size, rows) for size in ((16, 32) if tiny else LENGTHS)}
    memory = dict(together(work, 1))  # each in a process of its own, whose peak is its own
    return {**found, "batch": rows, "peak_mib_by_length": {size: memory[size].get("mib") for size in work}}


def _memory(run: Path, device: str, length: int, rows: int) -> dict[str, Any]:
    """What a training step needs beside the model, at its peak."""
    import resource

    import torch

    from regard import api
    from regard.types import Batch, Sequences

    model = api.load(run, device)
    where = next(model.network.parameters()).device
    sides = [Sequences.pad([[5] * size] * rows).to(where) for size in (length, 16)]
    batch = Batch(tuple(sides), torch.zeros(rows, 1, 2, dtype=torch.long, device=where))
    on_gpu = where.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() / 2**20
    else:
        before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    model.network.train()
    with model.precision():
        total = model.network(batch).total / rows
    total.backward()
    most = (
        torch.cuda.max_memory_allocated() / 2**20
        if on_gpu
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    )
    return {"mib": most - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("stories", "babi", "cloze", "pack", "squad", "speed"))
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=Path("packed"))
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder of the runs of squad and speed")
    parser.add_argument("--models", default=",".join(MODELS), help="of squad, with commas")
    parser.add_argument("--time", default="1040s", help="of each training of squad, counted from its first call")
    parser.add_argument("--stop", type=float, default=0.0, help="seconds after which squad is interrupted; 0: never")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=0, help="trainings at once; 0: all on a GPU, one on a CPU")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--questions", type=int, default=0, help="of the development set, for speed; 0: all")
    parser.add_argument("--tiny", action="store_true", help="does it run?")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    import torch

    jobs = given.jobs or (len(MODELS) if torch.cuda.is_available() else 1)

    def done(figures: dict[str, Any]) -> None:
        if given.name and not given.stop:
            record(given.name, figures)

    if given.what == "pack":
        pack(given.data[0], given.data[1:], given.out)
        return
    if given.what == "stories":
        figures = stories(given.tiny)
    elif given.what == "babi":
        figures = babi(given.data[0], given.tiny, given.seeds, jobs)
    elif given.what == "cloze":
        figures = cloze(given.data[0], given.data[1], given.tiny, given.seeds, jobs, done)
    elif given.what == "squad":
        models = given.models.split(",")
        given_time = given.time, given.stop, given.keep, given.device
        figures = squad(given.data[0], models, given.tiny, jobs, *given_time, done)
    else:
        figures = speed(given.data[0], given.tiny, given.keep, given.device, given.questions)
    print(json.dumps(figures, indent=1))
    if given.name:
        print(record(given.name, figures))


if __name__ == "__main__":
    main()
