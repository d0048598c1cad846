"""Run folders, damaged or made to harm: what becomes of `predict`, `info` and `train` with each of them?

    python benchmarks/reliability_runs.py --scale 0.01

Three small runs (translate, classify, entail), each with two checkpoints, are made once. Each trial copies one, changes
it (bits, cuts, other types, deep nesting, swapped tensors, links to devices, names of foreign code, …) and tries the
three verbs in a forked child with limits on time and memory. Expected: an answer, or one line and exit code 2.
"""

import argparse
import contextlib
import io
import json
import math
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")  # threads do not survive a fork

import tomli_w
import torch
from safetensors.torch import load_file, save_file

TRIALS, SECONDS, MEMORY = 10_000, 20, 2 * 2**30
OUT_OF_TIME = (signal.SIGPROF, signal.SIGALRM)
CANARY = "regard_canary"
small = [
    *(
        "train.batch_size=8",
        "train.validate_every=2",
        "train.save_every=0",
        "train.device=cpu",
        "train.lr=0.01",
        "train.warmup=2",
    ),
]
kinds = {
    "translate": [
        *(
            "source.tokenizer=character",
            "target.tokenizer=character",
            "source.embed.dim=8",
            "encoder.hidden=8",
            "encoder.layers=1",
            "decoder.embed=8",
        ),
        *(
            "decoder.hidden=16",
            "attention.score.hidden=8",
            "search.beam_size=2",
            "metrics=perplexity",
            "best_metric=perplexity",
        ),
    ],
    "classify": ["encoder=bigru", "encoder.hidden=4", "input.embed.dim=4"],
    "entail": ["encoder=disan", "input.embed.dim=8"],
}
rows_of_data = {
    "translate": [f"{'one two three four'[: 3 + n % 9]} {n}\t{n}{n % 7}" for n in range(40)],
    "classify": [f"{('red', 'blue', 'old')[n % 3]} dog {n}\t{('colour', 'other')[n % 3 == 2]}" for n in range(40)],
    "entail": [f"a dog {n}\tan animal {n % 5}\t{('yes', 'no')[n % 2]}" for n in range(40)],
}
weird: list[Any] = [
    *(-1, 0, 1, 2, 10**9, 2**63 - 1, 10**30, 1e308, -1.5, math.nan, math.inf, True, "", "x", "²", "\x00", "x" * 10**5),
    *("os.system", f"{CANARY}.Thing", "regard.train.run.Run", "../../etc/passwd", "/dev/zero", "a.b.c", [], {}, [[]]),
    *([1, "x"], {"name": f"{CANARY}.Thing"}, {"name": "bigru"}, ["bleu", f"{CANARY}.Thing"], [0] * 1000),
]


# --- the runs ------------------------------------------------------------------------------------------------


def words_of(folder: Path, kind: str, run: Path, steps: int) -> list[str]:
    data = ["--data", str(folder / f"{kind}.tsv"), "--out", str(run), "--quiet"]
    return ["train", kind, *data, *kinds[kind], *small, f"train.steps={steps}"]


def prepare(folder: Path) -> None:
    from regard.cli.main import answer

    canary = "import os, pathlib\npathlib.Path(os.environ['CANARY']).touch()\nclass Thing: pass\n"
    (folder / f"{CANARY}.py").write_text(canary)
    for kind, lines in rows_of_data.items():
        (folder / f"{kind}.tsv").write_text("".join(f"{line}\n" for line in lines))
        inputs = [line.rpartition("\t")[0] for line in lines[:2]]
        (folder / f"{kind}.txt").write_text("".join(f"{line}\n" for line in inputs))
        with contextlib.redirect_stdout(io.StringIO()):
            if answer(words_of(folder, kind, folder / "runs" / kind, 4)):
                raise SystemExit(f"the run of {kind} could not be made")


# --- what is changed -----------------------------------------------------------------------------------------


def on_bytes(file: Path, random: Random) -> str:
    content = bytearray(file.read_bytes())
    how = random.choice(["flip", "flip", "cut", "empty", "random", "foreign letters", "twice", "zeros", "longer"])
    if how == "flip" and content:
        for _ in range(random.choice([1, 1, 1, 8])):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    elif how == "cut":
        del content[random.randrange(len(content) + 1) :]
    elif how == "empty":
        content.clear()
    elif how == "random":
        content[:] = random.randbytes(random.choice([1, 8, 100, len(content)]))
    elif how == "foreign letters":
        place = random.randrange(len(content) + 1)
        content[place:place] = random.choice([b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x00", "\u202e²".encode()])
    elif how == "twice":
        content *= 2
    elif how == "zeros":
        place = random.randrange(len(content) + 1)
        content[place : place + 64] = b"\x00" * 64
    elif how == "longer":
        content += random.randbytes(50)
    file.write_bytes(content)
    return how


def on_file(file: Path, random: Random) -> str:
    kept = file.read_bytes()
    file.unlink()
    links = ["/dev/zero", "/dev/null", "/dev/random", "nowhere", "loop"]
    how = random.choice(["gone", "folder", "pipe", "sparse", *links])
    if how == "folder":
        file.mkdir()
    elif how.startswith("/dev"):
        file.symlink_to(how)
    elif how == "pipe":
        os.mkfifo(file)
    elif how == "loop":
        file.symlink_to(file.name)
    elif how == "nowhere":
        file.symlink_to("nowhere")
    elif how == "sparse":
        with file.open("wb") as large:
            large.write(kept)
            large.truncate(3 * 2**30)
    return how


def changed(value: Any, random: Random, depth: int = 0) -> Any:
    """The same with one thing changed, somewhere in it."""
    if isinstance(value, dict | list) and value and (depth == 0 or random.random() < 0.8):
        copy: Any = dict(value) if isinstance(value, dict) else list(value)
        key = random.choice(list(copy)) if isinstance(copy, dict) else random.randrange(len(copy))
        how = random.random()
        if how < 0.12:
            del copy[key]
        elif how < 0.2 and isinstance(copy, dict):
            copy[random.choice(["extra", "name", "²", "", "a.b", key.upper()])] = random.choice(weird)
        elif how < 0.26 and isinstance(copy, dict):
            copy[f"{key}x"] = copy.pop(key)
        elif how < 0.3 and isinstance(copy, list):
            copy *= 3
        else:
            copy[key] = changed(copy[key], random, depth + 1)
        return copy
    return random.choice([*weird, None])


def on_words(file: Path, random: Random) -> str:
    """JSON or TOML that can be read, and does not say what it said."""
    toml = file.suffix == ".toml"
    if random.random() < 0.06:
        deep = 10 ** random.choice([3, 5])
        text = "[" * deep if random.random() < 0.5 else "[" * deep + "]" * deep
        file.write_text(("task = " if toml else "") + (text if random.random() < 0.5 else text.replace("[", '{"a":')))
        return "deep"
    lines = file.suffix == ".jsonl"
    content = file.read_text()
    table: Any = tomllib.loads(content) if toml else json.loads(content.split("\n")[0] if lines else content)
    for _ in range(random.choice([1, 1, 1, 3])):
        table = changed(table, random)
    try:
        text = tomli_w.dumps(table) if toml else json.dumps(table, ensure_ascii=random.random() < 0.5)
        file.write_text(text + "\n" * lines)
    except (TypeError, AttributeError, ValueError):  # TOML has no null, and its files are tables
        file.write_text("task = 3\n")
    return "other values"


def on_tensors(file: Path, random: Random) -> str:
    tensors = load_file(file)
    names = list(tensors)
    one, other = random.choice(names), random.choice(names)
    how = random.choice(["swap", "rename", "type", "shape", "drop", "add", "nan", "large", "header", "negative"])
    if how == "swap":
        tensors[one], tensors[other] = tensors[other].clone(), tensors[one].clone()
    elif how == "rename":
        tensors[random.choice(["x", "²", one + ".x", "0.exp_avg", "99.step", ""])] = tensors.pop(one)
    elif how == "type":
        kind = random.choice([torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64])
        tensors[one] = tensors[one].to(kind)
    elif how == "shape":
        flat = tensors[one].reshape(-1)
        tensors[one] = random.choice([flat, tensors[one][None], flat[:0]]).clone()
    elif how == "drop":
        del tensors[one]
    elif how == "add":
        tensors["extra"] = torch.zeros(3)
    elif how == "nan" and tensors[one].is_floating_point():
        tensors[one] = torch.full_like(tensors[one], random.choice([math.nan, math.inf, -1e38]))
    elif how == "negative":
        tensors[one] = -tensors[one] if tensors[one].dtype is not torch.bool else ~tensors[one]
    if how == "large":
        table = json.dumps({one: {"dtype": "F32", "shape": [2**31], "data_offsets": [0, 2**33]}}).encode()
        file.write_bytes(len(table).to_bytes(8, "little") + table)
    elif how == "header":
        content = file.read_bytes()
        file.write_bytes(random.choice([2**62, 2**27, 0, 7]).to_bytes(8, "little") + content[8:])
    else:
        save_file(tensors, file)  # without a checksum, as from before there were any
    return how


def on_state(run: Path, random: Random) -> tuple[str, str]:
    moment = random.choice(sorted((run / "state").iterdir()))
    names = ["step-²", "step--1", "step-", "step-99999999999999999999", "step-7", "step-1e5", "step-٣", "step-07"]
    how = random.choice(["rename", "copy", "file", "link", "gone", "state is a file", "state is a link"])
    if how in ("rename", "copy"):
        to = moment.with_name(random.choice(names))
        (shutil.move if how == "rename" else shutil.copytree)(moment, to)
    elif how == "state is a link":
        shutil.move(run / "state", run / "elsewhere")
        (run / "state").symlink_to("elsewhere")
    elif how == "state is a file":
        shutil.rmtree(run / "state")
        (run / "state").write_text("x")
    else:
        shutil.rmtree(moment)
        if how == "file":
            moment.write_text("x")
        elif how == "link":
            moment.symlink_to("/proc/self")
    return "state", how


def mutate(run: Path, random: Random) -> tuple[str, str]:
    """Change a run; which file, and how."""
    if random.random() < 0.04:
        return on_state(run, random)
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != "curve.png")
    top = [path for path in files if path.parent == run]
    file = random.choice(top if random.random() < 0.6 else files)
    ways: list[Callable[[Path, Random], str]] = [on_bytes, on_file]
    if file.suffix == ".safetensors":
        ways += [on_tensors] * 3
    elif file.suffix in (".json", ".toml", ".jsonl"):
        ways += [on_words] * 5
    way = random.choice(ways)
    how = way(file, random)
    if file.parent != run and file.name != "sums.json" and random.random() < 0.6:
        (file.parent / "sums.json").unlink(missing_ok=True)  # so that what a file holds is looked at
    if random.random() < 0.15:  # and one more
        other = random.choice(top)
        if other.is_file() and not other.is_symlink():
            on_bytes(other, random)
    return str(file.relative_to(run)), how


# --- one trial -----------------------------------------------------------------------------------------------

seen: list[str] = []  # of code run or unpickled, in the child


def hook(event: str, given: tuple[Any, ...]) -> None:
    if (event == "import" and str(given[0]).startswith(CANARY)) or event in (
        *("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"),
    ):
        seen.append(f"{event} {str(given[0])[:60]}")


def answered(verb: str, words: list[str], writer: int) -> int:
    """Answer one command, and tell what came of it."""
    from regard.cli.main import answer

    # Each ends the process, whatever that does: SECONDS of CPU time, or much longer without using any.
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
    return code


def in_child(place: Path, work: Callable[[int], None]) -> dict[str, Any]:
    """Do the work in a forked child with limits on time and memory; what it told, and what it took."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(reader)
            os.chdir(place)
            os.environ["CANARY"] = str(place / "canary")
            for ends in OUT_OF_TIME:
                signal.signal(ends, signal.SIG_DFL)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (size + 2 * MEMORY, size + 2 * MEMORY))
            seen.clear()
            work(writer)
        finally:
            os.write(writer, json.dumps(["seen", *seen[:20]]).encode() + b"\n")
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    told = {verb: rest for verb, *rest in map(json.loads, content.splitlines())}
    return {
        "memory": usage.ru_maxrss * 1024,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "seen": told.pop("seen", []),
        "verbs": told,
        "canary": (place / "canary").exists(),
    }


def promised(
    promise: str, tried: str, found: list[dict[str, Any]], wrong: Callable[[dict[str, Any]], str]
) -> dict[str, Any]:
    """A row of the table: how many trials kept the promise, and what the first others did."""
    said = [
        f"trial {one['number']} ({one['kind']}, {one['file']}: {one['how']}): {reason}"
        for one in found
        if (reason := wrong(one))
    ]
    count = len(found)
    return {"promise": promise, "tried": tried, "count": count, "held": count - len(said), "fell_short": said[:20]}


def ends_well(one: dict[str, Any]) -> str:
    if one["signal"] not in (0, *OUT_OF_TIME):
        return f"ended by signal {one['signal']}"
    for verb, (code, line, traceback) in one["verbs"].items():
        # 3: predict answered, and said of each line why it could not (weights that are not numbers).
        fine = (0, 2, 3) if verb == "predict" else (0, 2)
        if code not in fine or traceback or (code and not line.startswith("regard: ")):
            return f"{verb}: exit code {code}, {line[-200:]}"
    return "" if one["verbs"] or one["signal"] else "nothing was told"


def command(rows: Callable[[float, int, int], list[dict[str, Any]]], about: str | None, jobs: int) -> int:
    """The command line of such a table."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=jobs)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    arguments = parser.parse_args()
    table = rows(arguments.scale, arguments.jobs, arguments.first)
    print(json.dumps(table, indent=1, ensure_ascii=False))
    return 0 if all(row["held"] == row["count"] for row in table) else 1


def child(folder: Path, kind: str, run: Path, draw: bool, writer: int) -> None:
    """Try the verbs, one after the other."""
    from regard.train import loop

    sys.path.insert(0, str(folder))
    if not draw:
        loop.draw = lambda folder: None  # type: ignore[assignment]  # pictures would take most of the time
    answered("predict", ["predict", str(run), str(folder / f"{kind}.txt")], writer)
    answered("info", ["info", str(run)], writer)
    answered("train", words_of(folder, kind, run, 6), writer)


def trial(given: tuple[str, int]) -> dict[str, Any]:
    """A run changed by the trial's number, tried in a child with limits."""
    folder, number = Path(given[0]), given[1]
    random = Random(number)
    kind = random.choice(sorted(kinds))
    with tempfile.TemporaryDirectory(prefix="trial-", dir=folder) as place:
        run = Path(place) / "run"
        shutil.copytree(folder / "runs" / kind, run)
        file, how = mutate(run, random)
        found: dict[str, Any] = {"number": number, "kind": kind, "file": file, "how": how}
        found |= in_child(Path(place), lambda writer: child(folder, kind, run, file == "log.jsonl", writer))
        for path in Path(place).rglob("*"):  # what was made unreadable goes too
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
    return found


# --- the table -----------------------------------------------------------------------------------------------


def rows(scale: float = 1.0, jobs: int = 2, first: int = 0) -> list[dict[str, Any]]:
    count = max(20, round(TRIALS * scale))
    torch.set_num_threads(1)
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401  # before the forks

    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="regard-runs-", dir=shm if shm.is_dir() else None) as name:
        prepare(Path(name))
        sys.addaudithook(hook)
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            numbers = [(name, first + n) for n in range(count)]
            found, began = [], time.monotonic()
            for one in pool.imap_unordered(trial, numbers, chunksize=8):
                found.append(one)
                if len(found) % 500 == 0:
                    left = (time.monotonic() - began) / len(found) * (count - len(found))
                    print(f"runs: {len(found):,} of {count:,}, {left / 60:.0f} min left", file=sys.stderr, flush=True)
    found.sort(key=lambda one: one["number"])

    def names_it(one: dict[str, Any]) -> str:
        if one["how"] in ("nan", "negative"):  # a sound file of other numbers; what they lead to is told
            return ""
        for verb, (code, line, _) in one["verbs"].items():
            if code == 2 and "/run" not in line:
                return f"{verb}: {line[-200:]}"
        return ""

    def memory(one: dict[str, Any]) -> str:
        for verb, (_, line, _) in one["verbs"].items():
            if "ran out of memory" in line or "allocate" in line:
                return f"{verb}: {line[-200:]}"
        return f"{one['memory'] / 2**30:.1f} GiB" if one["memory"] > MEMORY else ""

    tried = f"predict, info and train with {count:,} changed run folders of translate, classify and entail"
    promises: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("A damaged run ends in an answer or in one line with exit code 2.", ends_well),
        ("The line names the run or its file.", names_it),
        (f"None takes more than {SECONDS} s of CPU time.", lambda one: "no end" * (one["signal"] in OUT_OF_TIME)),
        ("None takes more than 2 GiB.", memory),
        (
            "No code that a run names is run.",
            lambda one: ", ".join([s for s in one["seen"] if "pickle" not in s] + ["canary"] * one["canary"]),
        ),
        ("Nothing is unpickled.", lambda one: ", ".join(s for s in one["seen"] if "pickle" in s)),
    ]
    return [promised(promise, tried, found, wrong) for promise, wrong in promises]


if __name__ == "__main__":
    sys.exit(command(rows, __doc__, jobs=2))
