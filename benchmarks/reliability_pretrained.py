"""Pre-trained models, damaged or made to harm: what becomes of a training that begins with each of them?

    python benchmarks/reliability_pretrained.py --scale 0.1

A tiny encoder (config.json, tokenizer.json, model.safetensors) is made once. Each trial copies it, changes it (bits,
cuts, other values, deep nesting, swapped or foreign tensors, links to devices, a pickle in place of the weights, …) and
begins `regard train classify` with it in a forked child with limits on time and memory; one in ten also trains and
predicts. Expected: it works, or one line and exit code 2.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from reliability_runs import MEMORY, OUT_OF_TIME, SECONDS, hook, on_bytes, on_file, on_tensors, on_words, seen

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
    """Begin a training, and tell what came of it."""
    from regard.cli.main import answer

    data = ["train", "classify", "--data", str(folder / "films.tsv"), "--quiet", "--out", str(model / "run")]
    own = ["encoder=pretrained", f"encoder.from={model}", "train.device=cpu", "train.batch_size=8"]
    commands = {"begin": [*data, *own, "--dry-run"]}
    if trained:
        commands |= {"train": [*data, *own, "train.steps=2"], "predict": ["predict", str(model / "run"), "a good film"]}
    for verb, words in commands.items():
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(6 * SECONDS)
        out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = answer(words)
        except BaseException as error:
            code, err = -1, io.StringIO(f"{type(error).__name__}: {error}")
        lines = [line for line in err.getvalue().splitlines() if line.strip()]
        told = [verb, code, lines[-1][:300] if lines else "", "Traceback" in err.getvalue()]
        os.write(writer, json.dumps(told).encode() + b"\n")
        if code:
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
        found: dict[str, Any] = {"number": number, "family": family, "file": file, "how": how}
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(reader)
                os.chdir(place)
                for ends in OUT_OF_TIME:
                    signal.signal(ends, signal.SIG_DFL)
                size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                resource.setrlimit(resource.RLIMIT_AS, (size + 2 * MEMORY, size + 2 * MEMORY))
                seen.clear()
                child(folder, model, number % TRAINED == 0, writer)
            finally:
                os.write(writer, json.dumps(["seen", *seen[:20]]).encode() + b"\n")
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            content = pipe.read()
        _, status, usage = os.wait4(pid, 0)
        found |= {"memory": usage.ru_maxrss * 1024, "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}
        told = {verb: rest for verb, *rest in map(json.loads, content.splitlines())}
        found |= {"seen": told.pop("seen", []), "verbs": told, "canary": (Path(place) / "canary").exists()}
    return found


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

    def row(promise: str, wrong: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
        said = [
            f"trial {one['number']} ({one['family']}, {one['file']}: {one['how']}): {reason}"
            for one in found
            if (reason := wrong(one))
        ]
        worked = sum(not one["verbs"].get("begin", [1])[0] for one in found)
        tried = f"train with {count:,} changed models (BERT, RoBERTa, DistilBERT, ELECTRA); {worked} were read"
        return {"promise": promise, "tried": tried, "count": count, "held": count - len(said), "fell_short": said[:20]}

    def ends_well(one: dict[str, Any]) -> str:
        if one["signal"]:
            return f"ended by signal {one['signal']}"
        for verb, (code, line, traceback) in one["verbs"].items():
            if code not in (0, 2) or traceback or (code and not line.startswith("regard: ")):
                return f"{verb}: exit code {code}, {line[-200:]}"
        return "" if one["verbs"] else "nothing was told"

    return [
        row(
            "A damaged pre-trained model is read, or refused in one line with exit code 2.",
            ends_well,
        ),
        row(
            f"No pre-trained model takes more than {SECONDS} s of CPU time or 2 GiB.",
            lambda one: "no end" * (one["signal"] in OUT_OF_TIME) + "too large" * (one["memory"] > MEMORY),
        ),
        row(
            "Nothing in a pre-trained model is unpickled or run.",
            lambda one: ", ".join([*one["seen"], *["canary"] * one["canary"]]),
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    arguments = parser.parse_args()
    table = rows(arguments.scale, arguments.jobs, arguments.first)
    print(json.dumps(table, indent=1, ensure_ascii=False))
    return 0 if all(row["held"] == row["count"] for row in table) else 1


if __name__ == "__main__":
    sys.exit(main())
