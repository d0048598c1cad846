"""Do the tests notice a mistake? A sample of small mistakes (`mutate.py`), each made in a copy of the package, and the
tests that run the changed function.

    python benchmarks/reliability_mutants.py --jobs 16 --count 300 --seconds 500 --out mutants.json

First every test file runs once, unchanged: that says which tests call which function, how long they take, and which
fail here anyway (they are left out). This map is kept beside the results as `….map.json`. Then every mutant is met by
the tests of its module and by those that call its function, until one fails. It is killed by a failing test, by an
error or by taking far too long; otherwise it survived. Where more tests call the function than fit into `--patience`
seconds, the quickest are taken, and the result says how many there were.

Results are written as they come, and a second call with the same sources goes on where the first one ended. Everything
happens in copies of the tree, one for each job; a warm process is forked for each run, so that nothing is imported
anew but the package itself.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutate import Mutant, mutants

__all__ = ["CANNOT_MATTER", "rows", "sample"]

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "benchmarks", "docs", "notebooks", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
          "pyproject.toml", "constraints.txt", "LICENSE", "SECURITY.md", ".ci", "page")  # fmt: skip
WARM = ("torch", "numpy", "pytest", "hypothesis", "beartype", "jaxtyping", "tokenizers", "safetensors.torch", "typer",
        "rich.progress", "sacrebleu", "scipy.stats", "matplotlib.pyplot", "entmax", "fastapi", "uvicorn",
        "torch.utils._python_dispatch", "torch._dynamo")  # fmt: skip
MARGIN = 20.0  # seconds that any run may take beside the time its tests took before

# Mutants that no test can kill, and why: the name of a mutant (`Mutant.name`) → one line.
CANNOT_MATTER: dict[str, str] = {}


# --- which mutants ----------------------------------------------------------------------------------------------


def sample(count: int, seed: int, only: str = "") -> list[Mutant]:
    """So many mutants, at most one a line; the same for the same sources."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for path in sorted((ROOT / "src" / "regard").rglob("*.py")):
        name = path.relative_to(ROOT / "src" / "regard").as_posix()
        if name.startswith(only):
            for one in mutants(name, path.read_text(encoding="utf-8")):
                lines.setdefault((name, one.line), []).append(one)
    chance = random.Random(seed)
    places = chance.sample(sorted(lines), min(count, len(lines)))
    return [chance.choice(lines[place]) for place in places]


def _digest() -> str:
    found = hashlib.sha256()
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


# --- which tests ------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a test file did, unchanged: seconds of each test, functions it calls, those that fixtures call, failures."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    broken: str = ""  # why it could not be run at all


class Recorder:
    """A plugin for pytest that notes the functions of the package that every test calls."""

    def __init__(self, source: str) -> None:
        self.source, self.seen = source, Seen()
        self.now: set[str] = set()
        self.names: dict[CodeType, str | None] = {}

    def note(self, code: CodeType) -> None:
        name = self.names.get(code, "")
        if name == "":
            inside = code.co_filename.startswith(self.source)
            name = f"{code.co_filename[len(self.source) :]}::{code.co_qualname}" if inside else None
            self.names[code] = name
        if name is not None:
            self.now.add(name)

    def listen(self) -> None:
        import threading

        watch = getattr(sys, "monitoring", None)
        if watch is None:

            def called(frame: Any, event: str, _: Any) -> None:
                if event == "call":
                    self.note(frame.f_code)

            sys.setprofile(called)
            threading.setprofile(called)
            return

        def started(code: CodeType, _: int) -> Any:
            self.note(code)
            return watch.DISABLE  # until the next test begins: a function is noted once

        watch.use_tool_id(watch.PROFILER_ID, "mutants")
        watch.register_callback(watch.PROFILER_ID, watch.events.PY_START, started)
        watch.set_events(watch.PROFILER_ID, watch.events.PY_START)

    def _taken(self) -> list[str]:
        found, self.now = sorted(self.now), set()
        if hasattr(sys, "monitoring"):
            sys.monitoring.restart_events()
        return found

    def pytest_collection_finish(self) -> None:
        self.listen()

    def pytest_runtest_logreport(self, report: Any) -> None:
        calls = self._taken()
        if report.when == "call":
            self.seen.calls[report.nodeid] = calls
        else:  # what a fixture does once for a file, every test of the file depends on
            self.seen.shared = sorted({*self.seen.shared, *calls})
        self.seen.seconds[report.nodeid] = self.seen.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.seen.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.seen.broken = str(report.longrepr)[-500:]


def _mirrors(path: str) -> list[str]:
    """The test files that are the module's own by their names."""
    place = Path(path)
    stem = place.stem.lstrip("_")
    names = {f"test_{stem}.py", f"test_{'_'.join([*place.parent.parts[-1:], stem])}.py"}
    if place.stem == "__init__" and place.parent.parts:
        names |= {f"test_{place.parent.name}.py", f"test_{place.parent.name}_contract.py"}
    under = ROOT / "tests" / (place.parts[0] if len(place.parts) > 1 else "")
    return sorted(one.relative_to(ROOT).as_posix() for one in under.rglob("test_*.py") if one.name in names)


class Tests:
    """Which tests to run for a mutant."""

    def __init__(self, seen: dict[str, Seen]) -> None:
        self.seen, self.callers, self.fixtures = seen, dict[str, list[str]](), dict[str, list[str]]()
        for file, found in seen.items():
            for test, calls in found.calls.items():
                for call in calls:
                    self.callers.setdefault(call, []).append(test)
            for call in found.shared:
                self.fixtures.setdefault(call, []).append(file)

    def chosen(self, mutant: Mutant, patience: float) -> tuple[list[str], int, float]:
        """The best first; how many call the function; and how long those chosen took before."""
        mirrors, start = _mirrors(mutant.path), f"{mutant.path}::"
        # Code outside functions runs when the module is imported: then whoever calls anything of the class or the
        # module, and of a module that only holds values, whoever is tested beside it.
        near: list[Callable[[str], bool]] = [
            lambda call: call == start + mutant.function,
            lambda call: call.startswith(f"{start}{mutant.function}."),
            lambda call: call.startswith(start),
            lambda call: call.startswith(f"{Path(mutant.path).parent.as_posix()}/"),
        ]
        known = {*self.callers, *self.fixtures}
        hits: list[str] = []
        for calls_it in near:
            hits = hits or list(filter(calls_it, known))
        callers = {test for call in hits for test in self.callers.get(call, ())}
        files = {file for call in hits for file in self.fixtures.get(call, ())} | set(mirrors)
        tests = callers | {test for file in files & self.seen.keys() for test in self.seen[file].calls}

        def rank(test: str) -> tuple[bool, bool, float]:  # the module's own first, those that call the function first
            file = test.partition("::")[0]
            return file not in mirrors, test not in callers, self.seen[file].seconds[test]

        tests = {test for test in tests if test not in self.seen[test.partition("::")[0]].failed}
        picked, spent = list[str](), 0.0
        for test in sorted(tests, key=rank):
            seconds = self.seen[test.partition("::")[0]].seconds[test]
            if spent + seconds <= patience and len(picked) < 400:
                picked.append(test)
                spent += seconds
        return picked, len(tests), spent


# --- runs -------------------------------------------------------------------------------------------------------


@dataclass
class Running:
    pid: int
    until: float
    slot: int
    done: Callable[[int | None, str], None]  # given the exit status, None where time was out, and what was printed


class Runs:
    """Forked runs of pytest, each in a copy of the tree of its own, so many at a time."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.folder, self.free, self.running = folder, list(range(jobs)), list[Running]()
        for slot in self.free:
            for name in COPIED:
                if (ROOT / name).is_dir():
                    ignored = shutil.ignore_patterns("node_modules", "results")
                    shutil.copytree(ROOT / name, self.tree(slot) / name, ignore=ignored)
                elif (ROOT / name).exists():
                    self.tree(slot).mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, self.tree(slot) / name)

    def tree(self, slot: int) -> Path:
        return self.folder / f"tree{slot}"

    def start(self, work: Callable[[Path], int], limit: float, done: Callable[[int | None, str], None]) -> None:
        slot = self.free.pop()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 3
            try:
                status = self._inside(self.tree(slot), work)
            except BaseException as error:
                print(repr(error))
            finally:
                sys.stdout.flush()
                os._exit(status)
        self.running.append(Running(pid, time.monotonic() + limit, slot, done))

    def _inside(self, tree: Path, work: Callable[[Path], int]) -> int:
        os.setsid()
        said = os.open(tree.with_suffix(".txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src")]
        os.environ["PYTHONPATH"] = os.pathsep.join([str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        return work(tree)

    def wait(self, until: float) -> None:
        """Until a slot is free, or the time is out."""
        while not self._collect() and time.monotonic() < until:
            time.sleep(0.02)

    def _collect(self) -> bool:
        for one in list(self.running):
            pid, status = os.waitpid(one.pid, os.WNOHANG)
            late = time.monotonic() > one.until
            if not pid and not late:
                continue
            with contextlib.suppress(ProcessLookupError):  # what it may have started goes with it
                os.killpg(one.pid, signal.SIGKILL)
            if not pid:
                os.waitpid(one.pid, 0)
            said = self.tree(one.slot).with_suffix(".txt").read_text(errors="replace")
            self.running.remove(one)
            self.free.append(one.slot)
            one.done(os.waitstatus_to_exitcode(status) if pid else None, said)
        return bool(self.free)

    def end(self) -> None:
        for one in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        self.running.clear()


def _pytest(arguments: list[str], *plugins: Any) -> int:
    import pytest

    calm = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "--hypothesis-seed=0"]
    calm += ["--tb=line", "-W", "ignore::pytest.PytestConfigWarning", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*calm, *arguments], plugins=list(plugins)))


def _recorded(file: str, kept: Path) -> Callable[[Path], int]:
    def work(tree: Path) -> int:
        recorder = Recorder(f"{tree}/src/regard/")
        status = _pytest([file], recorder)
        kept.write_text(json.dumps(vars(recorder.seen)))
        return status

    return work


def _tried(mutant: Mutant, tests: list[str], number: int) -> Callable[[Path], int]:
    def work(tree: Path) -> int:
        path = tree / "src" / "regard" / mutant.path
        whole, before = path.read_text(encoding="utf-8"), path.stat()
        path.unlink()  # a new file: another run's copy is not touched, whatever links there are
        path.write_text(mutant.applied(whole), encoding="utf-8")
        os.utime(path, (before.st_atime, before.st_mtime + 1000 + number))  # no byte code of another fits it
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        status = _pytest(["-x", *tests])
        if status == 4:  # a test that cannot be found where its file cannot be imported
            status = _pytest(["-x", *sorted({test.partition("::")[0] for test in tests})])
        return status

    return work


# --- the whole --------------------------------------------------------------------------------------------------


def _written(path: Path, content: Any) -> None:
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def _kept(path: Path, digest: str) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found if found.get("sources") == digest else {"sources": digest}


def _warm() -> None:
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", MPLBACKEND="Agg")
    for name in WARM:
        with contextlib.suppress(ImportError):
            __import__(name)


def _map(runs: Runs, path: Path, digest: str, until: float, files: list[str]) -> dict[str, Seen]:
    """What every test file does, unchanged. The longest known ones begin, so that none is left for the end."""
    kept = _kept(path, digest)
    known: dict[str, Any] = kept.setdefault("files", {})
    sizes = {file: (ROOT / file).stat().st_size for file in files}
    for file in sorted(set(files) - known.keys(), key=lambda one: -sizes[one]):
        if time.monotonic() > until:
            break
        runs.wait(until)
        if not runs.free:
            break
        note = runs.folder / f"{hashlib.sha256(file.encode()).hexdigest()[:16]}.json"

        def done(status: int | None, said: str, file: str = file, note: Path = note) -> None:
            seen = json.loads(note.read_text()) if note.exists() else vars(Seen())
            if not seen["seconds"]:
                seen["broken"] = seen["broken"] or (
                    "out of time" if status is None else f"exit {status}: {said[-500:]}"
                )
            known[file] = seen
            _written(path, kept)
            left = len(seen["failed"])
            print(f"{file}: {len(seen['calls'])} tests" + (f", {left} fail here" * bool(left)) + seen["broken"][-200:])

        runs.start(_recorded(file, note), 300.0, done)
    while runs.running and time.monotonic() < until:
        runs._collect()
        time.sleep(0.02)
    runs.end()
    runs.free = list(range(len(list(runs.folder.glob("tree?*/")))))
    return {file: Seen(**known[file]) for file in files if file in known}


def examine(
    count: int, seed: int, jobs: int, seconds: float, out: Path, patience: float = 30.0, only: str = "", kept: str = ""
) -> dict[str, Any]:
    """Try the mutants that were not tried yet, within the time; all results so far. `kept`: another map to use."""
    until, digest = time.monotonic() + seconds, _digest()
    _warm()
    result = _kept(out, digest) | {"seed": seed, "count": count, "only": only}
    done: dict[str, Any] = {one["name"]: one for one in result.get("mutants", [])}
    asked = sample(count, seed, only)
    files = sorted(one.relative_to(ROOT).as_posix() for one in (ROOT / "tests").rglob("test_*.py"))
    if only:  # only what can be of use
        place = only.split("/")[0].removesuffix(".py")
        files = [one for one in files if place in one]
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        runs = Runs(Path(folder), jobs)
        map_path = Path(kept) if kept else out.with_suffix(".map.json")
        seen = _map(runs, map_path, digest, until, files)
        missing = set(files) - seen.keys()
        if missing:
            print(f"no time to run {len(missing)} test files once; call again to go on")
            return result
        choices = Tests(seen)
        for number, mutant in enumerate(asked):
            if mutant.name in done:
                continue
            tests, covering, spent = choices.chosen(mutant, patience)
            one = {
                "name": mutant.name, "file": mutant.path, "line": mutant.line, "kind": mutant.kind,
                "before": mutant.before, "after": mutant.after, "tests": len(tests), "covering": covering,
            }  # fmt: skip
            if not tests:
                done[mutant.name] = {**one, "status": "no test runs it here"}
                continue
            runs.wait(until)
            if time.monotonic() > until or not runs.free:
                break
            runs.start(_tried(mutant, tests, number), 2 * spent + MARGIN, _judged(one, runs, done, result, out))
        while runs.running and time.monotonic() < until:
            runs._collect()
            time.sleep(0.02)
        runs.end()
    return _summed(result, done, out)


def _judged(
    one: dict[str, Any], runs: Runs, done: dict[str, Any], result: dict[str, Any], out: Path
) -> Callable[[int | None, str], None]:
    began = time.monotonic()

    def judged(status: int | None, said: str) -> None:
        for slot in runs.free:  # the one that has just become free holds a mutant: whole again before the next
            path = runs.tree(slot) / "src" / "regard" / one["file"]
            path.unlink(missing_ok=True)
            shutil.copy2(ROOT / "src" / "regard" / one["file"], path)
        by = next((line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
        if status is None:
            one.update(status="killed", by="out of time")
        elif status == 0:
            one.update(status="survived")
        elif status == 5:
            one.update(status="no test runs it here")
        else:
            one.update(status="killed", by=by[:200] or f"exit {status}: {said[-200:]}")
        one["seconds"] = round(time.monotonic() - began, 1)
        done[one["name"]] = one
        _summed(result, done, out)
        print(f"{one['status']}: {one['name']}  {one.get('by', '')}"[:220], flush=True)

    return judged


def _summed(result: dict[str, Any], done: dict[str, Any], out: Path) -> dict[str, Any]:
    for one in done.values():
        if one["status"] == "survived" and one["name"] in CANNOT_MATTER:
            one["why"] = CANNOT_MATTER[one["name"]]
    result["mutants"] = list(done.values())
    result["tried"] = len(done)
    for status in ("killed", "survived", "no test runs it here"):
        result[status] = sum(one["status"] == status for one in done.values())
    result["cannot matter"] = sum("why" in one for one in done.values())
    _written(out, result)
    return result


def rows(scale: float = 1.0, jobs: int = 2, out: Path | None = None, seconds: float = 3600.0) -> list[dict[str, Any]]:
    """A row of the table: how many of so many mistakes the tests notice."""
    count = max(3, round(300 * scale))
    with contextlib.ExitStack() as stack:
        if out is None:
            out = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "mutants.json"
        found = examine(count, 16, jobs, seconds, out, only="" if scale >= 0.1 else "measure/")
    tried = [one for one in found.get("mutants", []) if one["status"] != "no test runs it here"]
    alive = [one for one in tried if one["status"] == "survived" and "why" not in one]
    return [
        {
            "promise": "a small mistake in the code makes a test fail, unless it cannot matter",
            "tried": "one change in one line: an operator, a comparison, a constant, a branch, a statement, arguments",
            "count": len(tried),
            "held": len(tried) - len(alive),
            "fell_short": [f"{one['file']}:{one['line']}: {one['name'].partition(': ')[2]}" for one in alive][:20],
        }
    ]


def _options() -> Iterator[tuple[str, Any, str]]:
    yield "--count", 300, "how many mutants to sample"
    yield "--seed", 16, "which ones"
    yield "--jobs", 2, "how many at a time"
    yield "--seconds", 3600.0, "stop after so long; a second call goes on"
    yield "--patience", 30.0, "seconds of tests for each mutant"
    yield "--only", "", "mutants of files whose path in the package begins so"
    yield "--map", "", "the map of an earlier call"
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
        told = examine(
            given.count, given.seed, given.jobs, given.seconds, Path(given.out), given.patience, given.only, given.map
        )
        told = {key: value for key, value in told.items() if not isinstance(value, list)}
        print(json.dumps(told, indent=1, ensure_ascii=False))
