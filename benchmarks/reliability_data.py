"""Malformed data files: every reader takes thousands of them, and answers each with one clear line or a fine reading.

Small good files of every form are mutated (bytes, lines, quotes, numbers, nesting, packing), or replaced by what is no
file at all, and each is given to the command that reads it, in a child of a process that is already warm. A child may
take 20 seconds of CPU time and 2 GiB. It ends with exit code 0, 2 or 3; anything else is a fault. An audit hook and a
canary tell whether anything of a file was run or unpickled.

    python benchmarks/reliability_data.py --scale 0.01
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import pickle
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import wave
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # threads do not survive a fork
os.environ.setdefault("OMP_NUM_THREADS", "1")

FILES = 10_000
SECONDS = 20.0
BYTES = 2 << 30
LINES = 1_000  # of a file whose every line is answered

# --- good files --------------------------------------------------------------------------------------------------

words = [
    "ein",
    "mann",
    "schläft",
    "im",
    "park",
    "und",
    "zwei",
    "hunde",
    "laufen",
    "über",
    "die",
    "straße",
    "北京",
    "нет",
]


def sentence(rng: random.Random, most: int = 6) -> str:
    return " ".join(rng.choices(words, k=rng.randint(1, most)))


def table(rng: random.Random, columns: list[Callable[[], str]], between: str = "\t", header: str = "") -> bytes:
    rows = [between.join(make() for make in columns) for _ in range(40)]
    return ("\n".join([header, *rows] if header else rows) + "\n").encode()


def objects(rng: random.Random, **columns: Callable[[], Any]) -> bytes:
    rows = [json.dumps({name: make() for name, make in columns.items()}, ensure_ascii=False) for _ in range(40)]
    return ("\n".join(rows) + "\n").encode()


def array(rng: random.Random, indent: int | None, **columns: Callable[[], Any]) -> bytes:
    rows = [{name: make() for name, make in columns.items()} for _ in range(40)]
    return json.dumps(rows, ensure_ascii=False, indent=indent).encode()


def judgements() -> bytes:
    """A file that `regard judge` wrote."""
    from regard.serve.judge_sheet import Sheet
    from regard.serve.judge_store import begin

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "judgements.sqlite")
        with begin(path, Sheet(("a", "b"), (("x",), ("y",)), ("z",))) as store:
            store.show("ana", 1, [[0], [1]])
            store.keep("ana", 1, [0], "fluency", 4)
        return path.read_bytes()


def goods(rng: random.Random) -> dict[str, bytes]:
    """Every form of every reader, by the name of its file."""

    def text() -> str:
        return sentence(rng)

    def label() -> str:
        return rng.choice(["yes", "no", "maybe"])

    def number() -> str:
        return f"{rng.uniform(1, 5):.1f}"

    def record() -> str:
        return f"name[{text()}], food[{rng.choice(words)}], area[{label()}]"

    def conll() -> str:
        return "\n".join(f"{rng.choice(words)} NN B-{label()}" for _ in range(rng.randint(1, 5))) + "\n"

    def quoted() -> str:
        return '"' + text().replace("a", '""') + '"'

    def western() -> str:
        return rng.choice(["café", "schön", "naïve", "£5"]) + " " + rng.choice(["ein", "mann", "über"])

    def squad() -> bytes:
        asked = [
            {"id": str(n), "question": text(), "answers": [{"text": "Hunde", "answer_start": 5}]} for n in range(40)
        ]
        paragraphs = [{"context": f"Zwei Hunde {text()}.", "qas": asked[n : n + 4]} for n in range(0, 40, 4)]
        return json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}).encode()

    def story() -> str:
        facts = [f"{n} {text()} ." for n in range(1, 4)]
        return "\n".join([*facts, f"4 wo ist der {rng.choice(words)} ?\t{facts[0].split()[1]}\t1 3"])

    def numbered(suffix: str) -> Callable[[], str]:
        places = (f"some/{n % 40}{suffix}" for n in range(1_000))
        return lambda: next(places)

    def user() -> str:
        return str(rng.randint(1, 6))

    def thing() -> str:
        return str(rng.randint(1, 30))

    def stamp() -> str:
        return str(rng.randint(880_000_000, 890_000_000))

    snli = "gold_label\tsentence1\tsentence2"
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    return {
        "translate.tsv": table(rng, [text, text]),
        "translate.csv": table(rng, [quoted, quoted], ","),
        "translate.jsonl": objects(rng, source=text, target=text),
        "translate.de": table(rng, [text]),
        "summarise.csv": table(rng, [quoted, quoted], ",", "document,summary"),
        "summarise.jsonl": objects(rng, article=text, highlights=text, id=lambda: rng.randint(0, 99)),
        "describe.csv": table(rng, [lambda: f'"{record()}"', quoted], ",", "mr,ref"),
        "describe.tsv": table(rng, [record, text]),
        "describe.jsonl": objects(rng, mr=lambda: json.dumps({"name": text(), "n": [1, True]}), ref=text),
        "language.txt": table(rng, [text]),
        "language.jsonl": objects(rng, text=text),
        "classify.tsv": table(rng, [text, label]),
        "classify.csv": table(rng, [quoted, label], ",", "text,label"),
        "classify.jsonl": objects(rng, sentence=text, label=lambda: rng.randint(0, 3)),
        "classify.labelled": table(rng, [label, text], " "),
        "classify.semicolon.csv": table(rng, [number, quoted, label], ";", "id;Review;Sentiment"),
        "classify.tab.csv": table(rng, [quoted, label], "\t", "Comment\tClass"),
        "classify.pipe.txt": table(rng, [text, label], "|"),
        "classify.array.json": array(rng, None, review=text, stars=lambda: rng.randint(1, 5)),
        "classify.pretty.json": array(rng, 2, text=text, label=label),
        "classify.western.csv": table(rng, [western, label], ",", "text,label").decode().encode("cp1252"),
        "classify.wide.tsv": table(rng, [text, label]).decode().encode("utf-16"),
        "classify.unmarked.tsv": table(rng, [text, label]).decode().encode("utf-16-le"),
        "translate.codes.tsv": table(rng, [lambda: text() + " und noch mehr", text], "\t", "de\ten"),
        "entail.tsv": table(rng, [text, text, label]),
        "entail.txt": table(rng, [label, text, text], "\t", snli),
        "entail.jsonl": objects(rng, sentence1=text, sentence2=text, gold_label=label),
        "relate.tsv": table(rng, [text, text, number]),
        "relate.txt": table(rng, [number, text, text, number, label], "\t", sick),
        "relate.jsonl": objects(rng, sentence1=text, sentence2=text, score=lambda: round(rng.uniform(1, 5), 1)),
        "tag.conll": "\n".join(conll() for _ in range(30)).encode(),
        "tag.bio": "\n".join(conll().replace(" ", "\t") for _ in range(30)).encode(),
        "vectors.txt": ("\n".join(f"{word} 0.1 -2e-3 {rng.random():.3f}" for word in words) + "\n").encode(),
        "vectors.vec": ("8 2\n" + "\n".join(f"{word} 0.1 1" for word in words[:8]) + "\n").encode(),
        "gold.pharaoh": b"0-0\n0-0 0p0\n\n0-0\n0?0\n",
        "gold.naacl": "".join(f"{n} 1 1 S\n{n} 1 1 P\n" for n in range(1, 6)).encode(),
        "judge.txt": table(rng, [text]),
        "judge.sqlite": judgements(),
        "config.toml": b'best_metric = "chrf"\n[encoder]\nname = "recurrent"\nhidden = 8\n[train]\nsteps = 3\n',
        "predict.txt": table(rng, [text]),
        "predict.score": table(rng, [text, text]),
        "allowed.txt": b"ab\nba\nabc\n",
        "answer.json": squad(),
        "answer.jsonl": objects(rng, document=lambda: f"zwei hunde {text()}", question=text, answer=lambda: "hunde"),
        "answer.stories.txt": "\n".join(story() for _ in range(20)).encode() + b"\n",
        "recommend.tsv": table(rng, [user, thing, number, stamp]),
        "recommend.csv": table(rng, [user, thing, stamp], ",", "user,item,timestamp"),
        "recommend.dat": table(rng, [user, thing, number, stamp], "::"),
        "recommend.jsonl": objects(rng, user=user, item=thing, time=lambda: rng.randint(0, 99)),
        "caption.jsonl": objects(rng, image=numbered(".png"), caption=text),
        "caption.token.txt": table(rng, [numbered(".png#0"), text]),
        "transcribe.csv": table(rng, [numbered(".wav"), quoted], ",", "path,text"),
        "picture.png": picture(rng),
        "sound.wav": sound(rng),
        "digits.npz": digits(rng),
    }


def picture(rng: random.Random) -> bytes:
    from PIL import Image

    made = io.BytesIO()
    Image.frombytes("RGB", (12, 10), rng.randbytes(360)).save(made, "PNG")
    return made.getvalue()


def sound(rng: random.Random) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(rng.randbytes(8_000))
    return made.getvalue()


def digits(rng: random.Random) -> bytes:
    import numpy as np

    made = io.BytesIO()
    drawn = np.frombuffer(rng.randbytes(40 * 64), np.uint8).reshape(40, 8, 8)
    np.savez(made, X_train=drawn, y_train=np.arange(40) % 3)
    return made.getvalue()


# --- what is done to them ----------------------------------------------------------------------------------------


class Evil:
    """Unpickled, it would touch the canary."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("canary",)


odd = [
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\xaf",
        b"\r",
        b"\r\n",
        b"\t",
        b'"',
    ),
    *(b"\n", b"\n\n\n", b"\x1a", b"\x85", "\u2028".encode(), "\ufeff".encode(), b"\\ud800", b"\\u0000", b",", b" "),
    *(b"NaN", b"Infinity", b"-1", b"1e999", b"9" * 5000, b"0x1F", b"null", b"[]", b"{}", b"''", b"-", "²".encode()),
    *(b"__import__('os').mkdir('canary')", b"canary_module.Evil", b"hf:a/b", b"builtin:dates", b"%s%n", b"\x1b[2J"),
    *(b"<script>", b"../../x", b"-DOCSTART-", b"999999999-999999999", b"1 1 1 S S", b"a[b], ", b"[[", b"\x1f\x8b"),
]


def insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(odd) * rng.choice([1, 1, 1, 2, 50]) + data[at:]


def replace(data: bytes, rng: random.Random) -> bytes:
    at, many = rng.randint(0, len(data)), rng.randint(1, 8)
    return data[:at] + rng.randbytes(many) + data[at + many :]


def cut(data: bytes, rng: random.Random) -> bytes:
    first, last = sorted(rng.choices(range(len(data) + 1), k=2))
    return data[:first] + data[last:]


def end(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def repeat(data: bytes, rng: random.Random) -> bytes:
    first, last = sorted(rng.choices(range(len(data) + 1), k=2))
    return data[:last] + data[first:last] * rng.choice([1, 10, 100]) + data[last:]


def by_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    change: Callable[[bytes], bytes] = rng.choice(
        [
            lambda line: b"",
            lambda line: b" " * rng.choice([1, 1000]),
            lambda line: line + b"\t" + line,
            lambda line: line.replace(b"\t", b" "),
            lambda line: line.replace(b",", b""),
            lambda line: b'"' + line,
            lambda line: line[::-1],
            lambda line: line * 500,
            lambda line: rng.choice(odd),
            lambda line: b"{" * 3000 + line,
            lambda line: b'{"a":' * rng.choice([50, 900, 990, 100_000]) + b"1" + b"}" * 900,
            lambda line: b"[" * rng.choice([50, 990, 100_000]) + b"]" * 990,
            lambda line: line.replace(b'"', b"", 1),
            lambda line: line.replace(b": ", b": " + rng.choice(odd), 1),
            lambda line: b"\t" * 100_000,
            lambda line: b"a." * 2000 + b" = 1",
        ]
    )
    lines[at] = change(lines[at])
    return b"\n".join(lines)


def every_line(data: bytes, rng: random.Random) -> bytes:
    change: Callable[[bytes], bytes] = rng.choice(
        [
            lambda line: b"",
            lambda line: line + rng.choice(odd),
            lambda line: line.replace(b"\t", b","),
            lambda line: line.split(b"\t")[0],
            lambda line: line[: len(line) // 2],
            lambda line: line.replace(b" ", b"\xa0"),
            lambda line: line.upper(),
        ]
    )
    return b"\n".join(map(change, data.split(b"\n")))


def whole(data: bytes, rng: random.Random) -> bytes:
    make: Callable[[], bytes] = rng.choice(
        [
            lambda: b"",
            lambda: b"\n" * rng.choice([1, 1000, 3_000_000]),
            lambda: b" \n" * 100_000,
            lambda: rng.randbytes(rng.choice([1, 100, 10_000])),
            lambda: bytes(rng.choice([10, 100_000])),
            lambda: data.decode("utf-8", "replace").encode(rng.choice(["utf-16", "utf-16-le", "utf-32"])),
            lambda: data.decode("utf-8", "replace").encode("latin-1", "replace"),
            lambda: data.replace(b"\n", b"\r"),
            lambda: data.replace(b"\n", b""),
            lambda: b"x" * rng.choice([3 << 20, 9 << 20]),
            lambda: data.rstrip(b"\n") + b"y " * (2 << 20),
            lambda: b'"' + data * 50,
            lambda: pickle.dumps(Evil()),
            lambda: gzip.compress(data),
            lambda: b"PK\x03\x04" + data,
            lambda: data * 20,
        ]
    )
    return make()


mutations = [insert, insert, replace, cut, end, repeat, by_line, by_line, by_line, every_line, whole]


def packed(data: bytes, rng: random.Random, answered: bool) -> bytes:
    """In gzip, whole or damaged, or as a bomb. Of good lines that are `answered` one by one there are no millions."""
    make: Callable[[], bytes] = rng.choice(
        [
            lambda: gzip.compress(data),
            lambda: gzip.compress(data[:100]) + gzip.compress(data[100:]),
            lambda: gzip.compress(data)[: rng.randint(0, 200)],
            lambda: gzip.compress(data) + rng.randbytes(20),
            lambda: replace(gzip.compress(data), rng),
            lambda: data,
            lambda: gzip.compress(gzip.compress(data)),
            lambda: bomb(b"\n"),
            lambda: bomb(b"\x00"),
            lambda: bomb(b"\x00" if answered else data[: data.find(b"\n") + 1] or b"a\tb\n"),
        ]
    )
    return make()


def bomb(unit: bytes) -> bytes:
    """300 MB in about 300 KB."""
    return gzip.compress(unit * ((1 << 20) // len(unit)), mtime=0) * 300


def no_file(place: Path, rng: random.Random) -> str:
    """Something else under the name of a file."""
    kind = rng.choice(["folder", "pipe", "zero", "random", "loop", "nothing", "locked"])
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind in ("zero", "random"):
        place.symlink_to("/dev/zero" if kind == "zero" else "/dev/urandom")
    elif kind == "loop":
        place.symlink_to(place)
    elif kind == "locked":
        place.write_bytes(b"a\tb\n")
        place.chmod(0)
    return kind


# --- the commands that read them ---------------------------------------------------------------------------------

small = ["train.steps=2", "source.embed.dim=8", "encoder.hidden=8", "train.device=cpu"]


def command(name: str, path: str, room: Path, rng: random.Random) -> list[str]:
    """What a person would write to have the file read."""
    kind = name.split(".")[0]
    if kind == "vectors":
        return ["train", "classify", "--data", str(room / "classify.tsv"), "--dry-run", f"input.embed.vectors={path}"]
    if kind == "gold":
        return ["align", str(room / "run"), "--data", str(room / "five.tsv"), "--gold", path]
    if kind == "config":
        return ["train", "translate", "--data", str(room / "five.tsv"), "--dry-run", "--config", path]
    if kind == "predict":
        more = ["--score"] if ".score" in name else rng.choice([[], ["--json"], ["--strict"]])
        return ["predict", str(room / "run"), path, *more]
    if kind == "allowed":
        return ["predict", str(room / "run"), str(room / "lines.txt"), "--allowed", path]
    if kind == "judge":
        good = str(room / "translate.de")
        if ".sqlite" in name:
            return ["judge", "--report", path]
        return ["judge", *rng.choice([[good, path, "--source", good], [path, good, "--source", path]])]
    if kind == "picture":
        return ["predict", str(room / "seen"), path, *rng.choice([[], ["--json"], ["--strict"]])]
    if kind == "sound":  # which a good list names
        return [
            "train",
            "transcribe",
            "--data",
            str(Path(path).with_name("sound.csv")),
            "--dry-run",
            "train.device=cpu",
        ]
    if kind == "digits":
        return ["data", "classify", "--data", path, "input=image"]
    data = f"{path},{room / 'translate.de'}" if ".de" in name else path
    options = ["data.form=labelled"] if ".labelled" in name else []
    options += ["data.skip=true"] if rng.random() < 0.3 else []
    if rng.random() < 0.25:
        sizes = small if kind in ("translate", "summarise", "describe") else ["train.device=cpu"]
        return ["train", kind, "--data", data, "--dry-run", *options, *sizes]
    return ["data", kind, "--data", data, *options, *(["--json"] if rng.random() < 0.2 else [])]


@dataclass
class Trial:
    number: int
    name: str
    path: str
    words: list[str]
    folder: Path
    made: str  # by which mutations


@dataclass
class Ended:
    code: int | None = None  # None: killed
    line: str = ""
    seconds: float = 0.0
    size: int = 0
    events: list[str] = field(default_factory=list)


own = {"size": 0}  # memory of this process before there was any trial


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def child(trial: Trial, tell: int) -> None:
    """Runs the command in a process of its own, and tells how it went."""
    os.chdir(trial.folder)
    inherited = resident()
    grown = sum(int(line.split()[1]) for line in Path("/proc/self/status").read_text().split("\n") if "VmSize" in line)
    resource.setrlimit(resource.RLIMIT_AS, (grown * 1024 + 2 * BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS) + 10))
    watched = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
    events: list[str] = []
    sys.addaudithook(lambda event, _: events.append(event) if event in watched else None)
    out, told = open(os.devnull, "w"), io.StringIO()  # noqa: SIM115
    sys.stdin = open(os.devnull)  # noqa: SIM115
    began = time.monotonic()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            code = answer(trial.words)
    except BaseException as error:
        code = -1
        told.write(f"{type(error).__name__}: {error}")
    said = (told.getvalue().strip().split("\n") or [""])[-1][:300]
    # What the parent held of other trials' files when it forked is not this command's.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - max(0, inherited - own["size"])
    if "ran out of memory" in said:
        peak = 2 * BYTES
    result = {"code": code, "line": said, "seconds": time.monotonic() - began, "size": peak, "events": events}
    os.write(tell, json.dumps(result).encode())


def answer(words: list[str]) -> int:
    """As the command line does; judging opens no page, only its files."""
    from regard.cli.main import answer as by_command
    from regard.cli.trouble import told

    if words[0] == "judge" and words[1] != "--report":
        from regard.serve.judge_sheet import read_sheet

        try:
            read_sheet(words[1:3], words[4])
        except Exception as error:
            code, line = told(error)
            print(line, file=sys.stderr)
            return code
        return 0
    return by_command(words)


def tried(trial: Trial) -> Ended:
    """The trial in a child, killed after its time."""
    ours, theirs = os.pipe()
    began = time.monotonic()
    if not (pid := os.fork()):
        with contextlib.suppress(BaseException):
            os.close(ours)
            child(trial, theirs)
        os._exit(0)
    os.close(theirs)
    ready, _, _ = select.select([ours], [], [], 6 * SECONDS)  # others may use the machine
    data = b""
    if ready:
        while some := os.read(ours, 1 << 16):
            data += some
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(ours)
    _, status = os.waitpid(pid, 0)
    if data:
        return Ended(**json.loads(data))
    late = not ready or status & 127 == signal.SIGXCPU
    why = "took longer" if late else f"died of signal {status & 127}"
    return Ended(None, why, time.monotonic() - began)


# --- all of it ---------------------------------------------------------------------------------------------------


def furnished(folder: Path, room: Path) -> None:
    """Beside a list of pictures or recordings stands what it names."""
    some = room / "some"
    if not some.exists():
        some.mkdir()
        for n in range(40):
            (some / f"{n}.png").write_bytes(picture(random.Random(n)))
            (some / f"{n}.wav").write_bytes(sound(random.Random(n)))
    if folder != room:
        (folder / "some").symlink_to(some)
    rows = ["path,text", "sound.wav,ein hund", *(f"some/{n}.wav,ein mann {words[n % 9]}" for n in range(40))]
    (folder / "sound.csv").write_text("\n".join(rows) + "\n")


def prepared(room: Path) -> None:
    """A small run, and the good files that commands need beside the bad one."""
    import regard

    rng = random.Random(0)
    furnished(room, room)
    for name, data in goods(rng).items():
        (room / name).write_bytes(data)
    (room / "five.tsv").write_text("ab cd\tba dc\nabc\tcba\nb\tb c\nd a\ta d\nc\tc c\n")
    (room / "lines.txt").write_text("abc\n\nba\n")
    (room / "pairs.tsv").write_text("".join(f"{a}{b}{c}\t{c}{b}{a}\n" for a in "abcd" for b in "abcd" for c in "abcd"))
    options: dict[str, Any] = {
        "source": {"tokenizer": "character", "embed": {"dim": 8}},
        "target": {"tokenizer": "character"},
    }
    options |= {
        "encoder": {"hidden": 8},
        "decoder": {"hidden": 16},
        "train": {"steps": 4, "validate_every": 4, "device": "cpu"},
    }
    told = io.StringIO()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(told):
        regard.train("translate", data=str(room / "pairs.tsv"), out=room / "run", quiet=True, **options)
        seen: dict[str, Any] = {"input": {"name": "image", "size": 8}, "train": options["train"]}
        regard.train("classify", data=str(room / "digits.npz"), out=room / "seen", quiet=True, **seen)
        # Twice each: all that is imported lazily is there before the first fork, and good files are good.
        for name in goods(rng):
            for seed in (1, 5):
                words = command(name, str(room / name), room, random.Random(seed))
                if answer(words):
                    raise AssertionError(f"{words}: {told.getvalue()}")


def made(room: Path, number: int, good: dict[str, bytes]) -> Trial:
    """The files of a trial, and its command."""
    rng, names, how = random.Random(number), list(good), list[str]()
    name = names[number % len(names)]
    folder = room / f"trial-{number}"
    folder.mkdir()
    furnished(folder, room)
    in_gzip = rng.random() < 0.15 and name.split(".")[0] not in ("config", "allowed", "picture", "sound", "digits")
    place = folder / (f"{name}.gz" if in_gzip else name)
    if rng.random() < 0.03:
        how.append(no_file(place, rng))
    else:
        data = good[name]
        for _ in range(rng.choice([0, 1]) if in_gzip else rng.choice([1, 1, 2, 3])):
            change = rng.choice(mutations)
            data = change(data, rng)
            how.append(change.__name__)
        if in_gzip:
            data = packed(data, rng, answered=name.startswith("predict"))
            how.append("packed")
        elif name.startswith("predict"):  # every line is answered, and thousands of answers take their time
            data = b"\n".join(data.split(b"\n")[:LINES])
        place.write_bytes(data)
    return Trial(number, name, str(place), command(name, str(place), room, rng), folder, " + ".join(how))


def trials(room: Path, count: int) -> Iterator[Trial]:
    """Each is made in a child: a mutation may take gigabytes, which later children would inherit."""
    good = goods(random.Random(0))
    for number in range(count):
        ours, theirs = os.pipe()
        if not (pid := os.fork()):
            with contextlib.suppress(BaseException):
                trial = made(room, number, good)
                told = {**vars(trial), "folder": str(trial.folder)}
                os.write(theirs, json.dumps(told).encode())
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            told = json.loads(pipe.read())
        os.waitpid(pid, 0)
        yield Trial(**{**told, "folder": Path(told["folder"])})


def rows(scale: float = 1.0, jobs: int = 2) -> list[dict[str, Any]]:
    """What was promised, what was tried and what held."""
    count = max(1, round(FILES * scale))
    short: dict[str, list[str]] = {"clear": [], "time": [], "memory": [], "run": []}
    codes: Counter[Any] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        room = Path(folder)
        (room / "canary_module.py").write_text("import os\nos.mkdir('canary')\n")
        sys.path.insert(0, str(room))
        prepared(room)
        own["size"] = resident()

        def go(trial: Trial) -> tuple[Trial, Ended, bool]:
            ended = tried(trial)
            if ended.code is None:
                ended = tried(trial)  # once more: the machine may have been busy
            ran = (trial.folder / "canary").exists()
            shutil.rmtree(trial.folder, ignore_errors=True)
            return trial, ended, ran

        waiting: list[Any] = []

        def settle(future: Any) -> None:
            trial, ended, ran = future.result()
            codes[ended.code] += 1
            what = f"{trial.number} {Path(trial.path).name} ({trial.made}), {trial.words[0]}: {ended.line}"
            if ended.code is None and ended.line == "took longer":
                short["time"].append(what)
            elif ended.code not in (0, 2, 3) or "Traceback" in ended.line:
                short["clear"].append(what)
            if ended.size > BYTES:
                short["memory"].append(f"{what} ({ended.size >> 20} MiB)")
            if ran or ended.events:
                short["run"].append(f"{what} {ended.events}")

        for trial in trials(room, count):
            waiting.append(pool.submit(go, trial))
            if len(waiting) >= 4 * jobs:
                settle(waiting.pop(0))
        for future in waiting:
            settle(future)
        sys.path.remove(str(room))
    kinds = ", ".join(sorted({name.split(".")[0] for name in goods(random.Random(0))}))
    how = f"mutated files of {len(goods(random.Random(0)))} forms ({kinds}), plain and .gz, bombs among them; "
    how += ", ".join(f"{n:,} ended with exit code {code}" for code, n in sorted(codes.items(), key=str))
    promises = {
        "clear": "A malformed data file is read or refused with one clear line, never with a traceback",
        "time": f"No data file keeps a command longer than {SECONDS:.0f} s of CPU time",
        "memory": f"No data file takes more than {BYTES >> 30} GiB of memory",
        "run": "Nothing in a data file is run or unpickled",
    }
    return [
        {
            "promise": promise,
            "tried": how,
            "count": count,
            "held": count - len(short[key]),
            "fell_short": short[key][:20],
        }
        for key, promise in promises.items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    print(json.dumps(rows(given.scale, given.jobs), indent=1, ensure_ascii=False))
