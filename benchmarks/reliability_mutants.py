# ruff: noqa: E501  (names of mutants)
"""Do the tests notice a mistake? A sample of small mistakes (`mutate.py`), each made in a copy of the package, and the
tests of the changed file.

    python benchmarks/reliability_mutants.py --jobs 2 --count 300 --seconds 3600

Every mutant meets the tests of its own module, and if they pass, the tests that mention its module or its function, for
`--patience` seconds of CPU time in all. A mutant is killed by a test that fails with it and passes without it, or that
does not end with it; otherwise it survived. Tests that fail here anyway do not count.

Results are written as they come, and a second call goes on where the first one ended: a mutant is tried again if its
file or the test file that killed it has changed, beginning with that test. Everything happens in copies of the tree, one
for each job; a warm process is forked for each run, so that nothing is imported anew but the package itself.
"""

import argparse
import contextlib
import gc
import hashlib
import json
import math
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutate import Mutant, mutants

__all__ = ["CANNOT_MATTER", "rows", "sample"]

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "benchmarks", "docs", "notebooks", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
          "pyproject.toml", "constraints.txt", "LICENSE", "SECURITY.md", ".ci", "page")  # fmt: skip
WARM = ("torch", "numpy", "pytest", "hypothesis", "beartype", "jaxtyping", "tokenizers", "safetensors.torch", "typer",
        "rich.progress", "sacrebleu", "scipy.stats", "matplotlib.pyplot", "entmax", "fastapi", "uvicorn",
        "torch.utils._python_dispatch", "torch._dynamo", "schemathesis.pytest.plugin", "anyio.pytest_plugin",
        "anyio._backends._asyncio", "_hypothesis_pytestplugin", "pytest_timeout",
        "platformdirs.pytest_plugin", "jaxtyping._pytest_plugin")  # fmt: skip
LONGEST = 120.0  # seconds of CPU time for the tests of one module
STUCK = 20.0  # a test that takes so much CPU time does not end
WAIT = 10.0  # times as long may it take where nothing is computed, or others use the machine
ENDLESS = " does not end"

# Mutants that no test can kill, and why: the name of a mutant (`Mutant.name`) → one line.
CANNOT_MATTER = {
    "attend/block.py SelfAttention.forward: -2 → (2)": "the keys have four dimensions, the last but one is 2",
    "kernels/exponents_triton.py exponents_plan: pairs // 4 → (pairs * 4)": "room for more numbers than needed",
    "kernels/product_triton.py _parts_plan: 2 → (1)": "how many warps: the numbers are the same",
    "kernels/selected_triton.py _move_plan: 2 → 3 (2)": "the warps of a GPU: Triton's interpreter has none",
    "serve/connection.py Connection.on_response_complete: self.stage == BODY → (self.stage != BODY)": "uvicorn ends such a connection with the answer",
    "attend/attention.py Attention.prepare: values is None or values is keys → (values is None and values is keys)": "values that are the keys are cleaned once more, to the same numbers",
    "cli/train.py run: api.configure(task, options) → pass": "training checks the options once more before it reads the data",
    "compare.py folder_of: 4 → 5": "how many letters tell two names apart",
    'compare.py picture: axes.spines[["top", "right"]].set_visible(False) → pass': "the frame of a picture",
    "costs.py measured: 1 → 2 (3)": "more rows than are used",
    "data/problems.py odd_ratios: 1 → 2 (2)": "smooths a ratio of lengths, of which only large ones are told",
    "data/problems.py odd_ratios: 1 → 2 (4)": "smooths a ratio of lengths, of which only large ones are told",
    "data/read.py _few: count > blanks → (count >= blanks)": "one blank line in a million",
    "encode/disan.py _beside: 1 → (0)": "one part put beside nothing is itself",
    "faithful/__init__.py _cases: leave < NOISE → (leave <= NOISE)": "a number that is exactly the bound of rounding",
    "faithful/adversary.py _moved: 1 → (0) (2)": "how many are worked out at a time",
    "faithful/adversary.py top: 12 → 13": "how finely an epsilon is searched for",
    "fields/number.py Number.collate: 0 → (-1)": "a row of scores holds one",
    "find.py nearest: 100 → (99)": "how long a name may be to be suggested",
    "kernels/additive_cpu.py _Piece.__init__: 0 → (-1) (2)": "dropout of 0 keeps everything and multiplies by 1",
    "kernels/additive_cpu.py _Units.floats: False → True": "room for more numbers than needed",
    "kernels/choose.py top: 512 → 513": "which path is faster at this size was measured; both give the same answer",
    "kernels/feature_cpu.py top: 2 → 3": "the size of a block: the numbers are the same",
    "kernels/selected.py _fused: len(shape) == 3 → (len(shape) != 3)": "on a GPU only, and the readable path gives the same answer",
    "look/heatmap.py _fonts: 500 → 501": "no font has the weight 501",
    "look/heatmap.py draw: 1 → 2": "the size of a picture without rows and columns",
    "look/terminal.py _in_picture: True → False": "bold letters in a terminal",
    "measure/alignment.py looked: True → False": "a look has a row for each token",
    "predict/generate/_cached.py Plan._place: first + CHUNK → (first - CHUNK) (2)": "how many places are prepared at a time",
    "predict/generate/plain.py Plain.__init__: 256 → 257": "a default width that was chosen",
    "ranges.py top: 10 → (9) (5)": "the largest batch that is accepted",
    "search/_banned.py _Index.holding: 0 → 1": "only the piece for padding begins there, and nobody writes it",
    "serve/connection.py top: 2.0 → 3.0": "how long a refused client may linger",
    'serve/judge_store.py begin: connection.execute("PRAGMA synchronous = FULL") → pass': "SQLite's own default; said for builds that have another",
    "serve/listen.py most_connections: 16 → (15)": "how many connections there are where the system allows next to none",
    "serve/server.py Server.handle_exit: self.service.refuse() → pass": "the server stops taking requests a moment later anyway, when it drains",
    "tasks/_decision.py Decision.predict: 1 → 2": "how many are answered at a time: the answers are the same",
    "tasks/_maps.py AttentionMaps.__call__: weights.shape[-1] > keys → (weights.shape[-1] >= keys)": "cut to the length that it has",
    "tasks/entail.py Entail.__init__: 0.03 → 1.03": "a default weight that was chosen",
    "tasks/language.py Language.predict: 0 → (-1) (4)": "a row has one text",
    "tasks/translate.py Translate: 64 → 65": "a width that was chosen",
    "tasks/translate.py top: 256 → 257 (2)": "a width that was chosen",
    "train/card.py card: 1 → (0)": "a run has training examples",
    "train/loop.py fit: 1.0 → 2.0": "a default that was chosen",
    "train/loop.py fit: most > 1 → (most >= 1)": "of one thread there is nothing to choose",
    "train/suggest.py Facts.of: 0 → (-1)": "all examples have as many inputs as the first",
    "train/suggest.py _pieces: distinct <= WHOLE → (distinct < WHOLE)": "the edge of a rule of thumb",
    "train/suggest.py generation.<locals>.tokens: 2 → 3": "an estimate of time",
    "train/suggest.py generation.<locals>.tokens: 3 * (width * decoder + decoder * decoder) → (3 / (width * decoder + decoder * decoder))": "an estimate of time, most of which is elsewhere",
    "train/suggest.py language: 1024 → (1023) (2)": "an estimate of steps",
    "train/suggest.py top: 60 → (59)": "the most epochs of a rule of thumb",
    "train/threads.py usable: contextlib.suppress(OSError, ValueError) → contextlib.suppress(ValueError, OSError)": "the order of exceptions",
}


# --- which mutants ----------------------------------------------------------------------------------------------


def sample(count: int, seed: int, only: str = "") -> list[Mutant]:
    """So many mutants, at most one a line. Their names decide which ones: a change elsewhere does not change them."""
    found: list[Mutant] = []
    for path in sorted((ROOT / "src" / "regard").rglob("*.py")):
        name = path.relative_to(ROOT / "src" / "regard").as_posix()
        if name.startswith(only):
            found += mutants(name, path.read_text(encoding="utf-8"))
    found.sort(key=lambda one: hashlib.sha256(f"{seed} {one.name}".encode()).digest())
    lines: dict[tuple[str, int], Mutant] = {}
    for one in found:
        lines.setdefault((one.path, one.line), one)
    return list(lines.values())[:count]


def _digest(mutant: Mutant, by: str) -> str:
    """Of the files that a result depends on most: the mutant's own, and that of the test that killed it."""
    tests = [by.partition("::")[0].removesuffix(ENDLESS)] if by else _own(mutant.path)
    paths = [ROOT / "src" / "regard" / mutant.path, *(ROOT / test for test in tests)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths if path.exists())).hexdigest()[:16]


# --- which tests ------------------------------------------------------------------------------------------------


def _own(path: str) -> list[str]:
    """The test files that are the module's own by their names, then those of all in its folder."""
    place = Path(path)
    stem, folder = place.stem.lstrip("_"), place.parent.name
    shared = [f"test_{folder}.py"] if folder else []
    names = [f"test_{stem}.py", f"test_{folder}_{stem}.py", *shared]  # a contract test trains for minutes
    under = ROOT / "tests" / (place.parts[0] if len(place.parts) > 1 else "")
    found = {one.name: one.relative_to(ROOT).as_posix() for one in under.rglob("test_*.py")}
    return [found[name] for name in names if name in found]


@cache
def _texts() -> dict[str, str]:
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def _others(mutant: Mutant) -> list[str]:
    """The test files that mention the module or the function most often; the shortest first among equals."""
    place = Path(mutant.path).with_suffix("")
    stem = (place.parent if place.stem == "__init__" else place).name
    words = {stem, *re.findall(r"\w{4,}", mutant.function.replace("__init__", "").replace("locals", ""))}
    known = re.compile(r"\b(" + "|".join(map(re.escape, sorted(words))) + r")\b")
    times = {name: len(known.findall(text)) for name, text in _texts().items() if name not in _own(mutant.path)}
    return sorted((name for name in times if times[name]), key=lambda name: (-times[name], len(_texts()[name])))


# --- runs -------------------------------------------------------------------------------------------------------


def _copied(tree: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("node_modules", "results"))
        elif (ROOT / name).exists():
            tree.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


class Watch:
    """A plugin for pytest that notes which tests fail, and ends the process where one takes too much CPU time."""

    def __init__(self, note: Path) -> None:
        self.note, self.failed = note, list[str]()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.note.write_text("\n".join([*self.failed, nodeid + ENDLESS]))
        signal.setitimer(signal.ITIMER_PROF, STUCK)

    def pytest_runtest_logfinish(self) -> None:
        self.note.write_text("\n".join(self.failed))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
            self.note.write_text("\n".join(self.failed))


def _pytest(
    tree: Path, tests: list[str], leave: set[str], limit: float, how: str = "--maxfail=1"
) -> tuple[int | None, list[str]]:
    """The exit status of a run, None where it took over `limit` seconds of CPU time, and the tests that failed."""
    said, note = tree.with_suffix(".txt"), tree.with_suffix(".now")
    note.write_text("")
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(tree)
            sys.path[:0] = [str(tree / "src")]
            before = filter(None, [os.environ.get("PYTHONPATH")])
            os.environ["PYTHONPATH"] = os.pathsep.join([str(tree / "src"), *before])
            import pytest

            calm = ["-q", how, "--tb=line", "--hypothesis-seed=0", "-W", "ignore::pytest.PytestConfigWarning"]
            calm += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *(f"--deselect={one}" for one in sorted(leave))]
            calm += [word for name in ("cacheprovider", "xdist", "randomly") for word in ("-p", f"no:{name}")]
            status = int(pytest.main([*calm, *tests], plugins=[Watch(note)]))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    until = time.monotonic() + WAIT * limit
    ended, came = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < until:
        time.sleep(0.02)
        ended, came = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):  # what it may have started goes with it
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
    if not ended or (os.WIFSIGNALED(came) and os.WTERMSIG(came) == signal.SIGXCPU):
        return None, []
    return os.waitstatus_to_exitcode(came), note.read_text().split("\n")


class Bench:
    """A copy of the tree in which mutants are tried, one after the other."""

    def __init__(self, folder: Path, patience: float, bad: set[str]) -> None:
        self.tree, self.patience, self.bad = folder / f"tree{os.getpid()}", patience, bad
        _copied(self.tree)

    def tried(self, mutant: Mutant, before: str) -> dict[str, Any]:
        """What became of it; `before` is the test that killed it in another version of the sources."""
        path = self.tree / "src" / "regard" / mutant.path
        whole, began = path.read_bytes(), time.monotonic()
        by = ""
        try:
            self._write(path, mutant.applied(whole.decode()).encode())
            for tests, limit in self._groups(mutant, before):
                by = by or self._killer(tests, limit)
        finally:
            self._write(path, whole)
        found: dict[str, Any] = (
            {"status": "killed", "by": by} if by else {"status": "survived", "patience": self.patience}
        )
        return found | {"seconds": round(time.monotonic() - began, 1)}

    def _groups(self, mutant: Mutant, before: str) -> Iterator[tuple[list[str], float]]:
        if before and (self.tree / before.partition("::")[0]).exists():
            yield [before], LONGEST
        yield _own(mutant.path), LONGEST
        if self.patience and mutant.name not in CANNOT_MATTER:
            yield _others(mutant), self.patience

    def _killer(self, tests: list[str], limit: float) -> str:
        status, failed = _pytest(self.tree, tests, self.bad, limit) if tests else (0, [])
        return "" if status in (None, 0, 4, 5) else failed[0]  # 4, 5: there was none

    def _write(self, path: Path, content: bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):  # may be of the other content
            compiled.unlink()


def _without(tests: list[str]) -> set[str]:
    """Those that fail without any mutant: they kill none."""
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        tree, found = Path(folder) / "tree", set[str]()
        _copied(tree)
        files = sorted({test for test in tests if "::" not in test})  # which could not be imported
        for some in ([test for test in tests if test not in files], *([file] for file in files)):
            status, failed = _pytest(tree, some, set(), 10 * LONGEST, "--maxfail=0") if some else (0, [])
            found |= {test.removesuffix(ENDLESS) for test in failed} if status else set()
        return found & set(tests)


bench: Bench  # of this process


def _begin(folder: Path, patience: float, bad: set[str]) -> None:
    global bench
    bench = Bench(folder, patience, bad)


def _one(task: tuple[Mutant, str, float]) -> tuple[Mutant, dict[str, Any]]:
    mutant, before, until = task
    return mutant, bench.tried(mutant, before) if time.monotonic() < until else {}


# --- the whole --------------------------------------------------------------------------------------------------


def _written(path: Path, content: Any) -> None:
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def examine(
    count: int, seed: int, jobs: int, seconds: float, out: Path, patience: float = 12.0, only: str = ""
) -> dict[str, Any]:
    """Try the mutants that were not tried yet, within the time; all results so far."""
    until = time.monotonic() + seconds
    kept = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    known = {one["name"]: one for one in kept.get("mutants", [])}
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", MPLBACKEND="Agg")
    if not Path("/dev/nvidiactl").exists():
        os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported, which is before the tests say it
    for name in WARM:
        with contextlib.suppress(ImportError):
            __import__(name)
    gc.freeze()  # pytest collects garbage several times in each run
    result: dict[str, Any] = {"seed": seed, "count": count, "only": only}
    sampled = {one.name: one for one in sample(count, seed, only)}
    done = {
        name: known[name]
        for name, mutant in sampled.items()
        if name in known
        and known[name]["of"] == _digest(mutant, known[name].get("by", ""))
        and (known[name]["status"] == "killed" or name in CANNOT_MATTER or known[name]["patience"] >= patience)
    }
    sound, bad = set[str](), set[str]()
    while True:
        tasks = [
            (mutant, known.get(name, {}).get("by", "").removesuffix(ENDLESS), until)
            for name, mutant in sampled.items()
            if name not in done
        ]
        with (
            tempfile.TemporaryDirectory(prefix="mutants") as folder,
            multiprocessing.get_context("fork").Pool(jobs, _begin, (Path(folder), patience, bad)) as pool,
        ):
            for mutant, found in pool.imap_unordered(_one, tasks):
                if found:
                    change = {"file": mutant.path, "line": mutant.line, "kind": mutant.kind}
                    of = _digest(mutant, found.get("by", ""))
                    done[mutant.name] = {"name": mutant.name, **change, **found, "of": of}
                    print(f"{found['status']}: {mutant.name}  {found.get('by', '')}"[:220], flush=True)
                    _summed(result, done, out)
        killers = {one["by"].removesuffix(ENDLESS) for one in done.values() if one["status"] == "killed"}
        wrong = _without(sorted(killers - sound))
        sound |= killers - wrong
        if not wrong or wrong <= bad:
            return _summed(result, done, out)
        bad |= wrong
        print(f"fail without a mutant: {', '.join(sorted(wrong))}", flush=True)
        known = {}
        done = {name: one for name, one in done.items() if one.get("by", "").removesuffix(ENDLESS) not in wrong}


def _summed(result: dict[str, Any], done: dict[str, Any], out: Path) -> dict[str, Any]:
    for one in done.values():
        if one["status"] == "survived" and one["name"] in CANNOT_MATTER:
            one["why"] = CANNOT_MATTER[one["name"]]
    result["mutants"] = list(done.values())
    result["tried"] = len(done)
    for status in ("killed", "survived"):
        result[status] = sum(one["status"] == status for one in done.values())
    result["cannot matter"] = sum("why" in one for one in done.values())
    _written(out, result)
    return result


def rows(scale: float = 1.0, jobs: int = 2, out: Path = ROOT / "mutants.json", seconds: float = 7200.0) -> list[Any]:
    """A row of the table: how many of so many mistakes the tests notice. A second call goes on with the first one's."""
    found = examine(max(3, round(300 * scale)), 16, jobs, seconds, out, only="" if scale >= 0.1 else "measure/")
    alive = [one for one in found["mutants"] if one["status"] == "survived" and "why" not in one]
    cannot = found["cannot matter"]
    return [
        {
            "promise": "A small mistake in the code makes a test fail, unless it cannot matter.",
            "tried": "one change in one line: an operator, a comparison, a constant, a branch, a statement, arguments; "
            f"{cannot} of them cannot matter (each with its reason in benchmarks/reliability_mutants.py)",
            "count": found["tried"],
            "held": found["tried"] - len(alive),
            "fell_short": [f"{one['file']}:{one['line']}: {one['name'].partition(': ')[2]}" for one in alive][:20],
        }
    ]


def _options() -> Iterator[tuple[str, Any, str]]:
    yield "--count", 300, "how many mutants to sample"
    yield "--seed", 16, "which ones"
    yield "--jobs", 2, "how many at a time"
    yield "--seconds", 3600.0, "stop after so long; a second call goes on"
    yield "--patience", 12.0, "seconds of CPU time for the tests of other modules; 0: none"
    yield "--only", "", "mutants of files whose path in the package begins so"
    yield "--out", "mutants.json", "where results go"
    yield "--scale", 0.0, "print the row of the reliability table for this share of the full count"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default, said in _options():
        parser.add_argument(name, type=type(default), default=default, help=said)
    given = parser.parse_args()
    if given.scale:
        print(json.dumps(rows(given.scale, given.jobs), indent=1, ensure_ascii=False))
    else:
        told = examine(given.count, given.seed, given.jobs, given.seconds, Path(given.out), given.patience, given.only)
        told = {key: value for key, value in told.items() if not isinstance(value, list)}
        print(json.dumps(told, indent=1, ensure_ascii=False))
