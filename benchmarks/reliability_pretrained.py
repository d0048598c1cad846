"""Pre-trained models, damaged or made to harm: what becomes of a training that begins with each of them?

    python benchmarks/reliability_pretrained.py --scale 0.1

A tiny encoder (config.json, tokenizer.json, model.safetensors) is made once. Each trial copies it, changes it (bits,
cuts, other values, deep nesting, swapped or foreign tensors, links to devices, a pickle in place of the weights, …) and
begins `regard train classify` with it in a forked child with limits on time and memory; one in ten also trains and
predicts. Expected: it works, or one line and exit code 2.
"""

import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from reliability_runs import (
    MEMORY,
    OUT_OF_TIME,
    SECONDS,
    answered,
    command,
    ends_well,
    hook,
    in_child,
    on_bytes,
    on_file,
    on_tensors,
    on_words,
    promised,
)

from small_encoders import configs, encoder_folder

TRIALS, TRAINED = 500, 10
# A pickle that would run a command: what `torch.load` without weights_only would do with it is what must not happen.
PICKLE = b"cos\nsystem\n(S'touch canary'\ntR."


def on_pickle(folder: Path, random: Random) -> tuple[str, str]:
    """A pickle in place of the weights, under their name or its own."""
    weights = folder / "model.safetensors"
    name = random.choice(["pytorch_model.bin", "model.safetensors", "model.pt"])
    weights.unlink()
    (folder / name).write_bytes(PICKLE)
    return name, "a pickle"


def mutate(folder: Path, random: Random) -> tuple[str, str]:
    """Change a model; which file, and how."""
    if random.random() < 0.05:
        return on_pickle(folder, random)
    file = random.choice(sorted(folder.iterdir()))
    ways: list[Callable[[Path, Random], str]] = [on_bytes, on_file]
    ways += [on_tensors] * 3 if file.suffix == ".safetensors" else [on_words] * 5
    how = random.choice(ways)(file, random)
    return file.name, how


def child(folder: Path, model: Path, trained: bool, writer: int) -> None:
    """Begin a training, and in some trials end it."""
    data = ["train", "classify", "--data", str(folder / "films.tsv"), "--quiet", "--out", str(model / "run")]
    own = ["encoder=pretrained", f"encoder.from={model}", "train.device=cpu", "train.batch_size=8"]
    commands = {"begin": [*data, *own, "--dry-run"]}
    if trained:
        commands |= {"train": [*data, *own, "train.steps=2"], "predict": ["predict", str(model / "run"), "a good film"]}
    for verb, words in commands.items():
        if answered(verb, words, writer):
            break


def trial(given: tuple[str, int]) -> dict[str, Any]:
    """A model changed by the trial's number, tried in a child with limits."""
    folder, number = Path(given[0]), given[1]
    random = Random(number)
    family = random.choice(sorted(configs))
    with tempfile.TemporaryDirectory(prefix="trial-", dir=folder) as place:
        model = Path(place) / "model"
        shutil.copytree(folder / family, model)
        file, how = mutate(model, random)
        work = partial(child, folder, model, number % TRAINED == 0)
        return {"number": number, "kind": family, "file": file, "how": how, **in_child(Path(place), work)}


def rows(scale: float = 1.0, jobs: int = 4, first: int = 0) -> list[dict[str, Any]]:
    count = max(20, round(TRIALS * scale))
    import torch

    torch.set_num_threads(1)
    import regard.api  # before the forks
    import regard.tasks.classify  # noqa: F401

    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="regard-models-", dir=shm if shm.is_dir() else None) as name:
        for family in configs:
            encoder_folder(Path(name) / family, family)
        films = [f"a {word} film, {'a man ' * (n % 3)}{n}\t{word}\n" for n in range(20) for word in ("good", "bad")]
        (Path(name) / "films.tsv").write_text("".join(films))
        sys.addaudithook(hook)
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            found = pool.map(trial, [(name, first + n) for n in range(count)], chunksize=8)

    worked = sum(not one["verbs"].get("begin", [1])[0] for one in found)
    tried = f"train with {count:,} changed models (BERT, RoBERTa, DistilBERT, ELECTRA); {worked} were read"
    promises: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("A damaged pre-trained model is read, or refused in one line with exit code 2.", ends_well),
        (
            f"No pre-trained model takes more than {SECONDS} s of CPU time or 2 GiB.",
            lambda one: "no end" * (one["signal"] in OUT_OF_TIME) + "too large" * (one["memory"] > MEMORY),
        ),
        (
            "Nothing in a pre-trained model is unpickled or run.",
            lambda one: ", ".join([*one["seen"], *["canary"] * one["canary"]]),
        ),
    ]
    return [promised(promise, tried, found, wrong) for promise, wrong in promises]


if __name__ == "__main__":
    sys.exit(command(rows, __doc__, jobs=4))
