"""Compares models trained on the same data with the same budget and seeds; writes a table and a plot.

    compare("entail", ["encoder=bilstm,disan,resan"], seeds=3, time="20m", out="compare/entail")

An option with several values, separated by commas, is varied (except options of `data`). Every combination is trained
once per seed, `jobs` at a time. Then each model is timed alone on the same machine (costs.py). `time` limits all of it:
every training gets an equal part, and what is not timed at the end of it stays without timings. The tables are written
when all models are trained, and again after each timing. Scores are saved with each run, so an interrupted comparison
continues where it stopped.
"""

import json
import math
import statistics
import time as clock
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any

from regard.compare.conclusions import Row
from regard.compare.costs import cost, parameters
from regard.compare.processes import in_processes
from regard.compare.table import as_json, markdown, picture
from regard.errors import RegardError, counted
from regard.files import finite, read_whole, write_whole
from regard.merged import merge
from regard.room import network_of
from regard.train.progress import clock as spoken
from regard.train.schedule import seconds, spelled
from regard.trust import outside

__all__ = ["Row", "Shares", "compare", "contest", "folder_of", "markdown", "scored", "variants"]

SHARE = 10_000  # training examples to score
FEWEST = 100  # training examples to score, however little time is left
# Shares of a time limit: all trainings where models are timed after them, and where not; the rest is for reading the
# data, starting processes and the timings. Of what one training gets, `TRAINING` is its own limit; the rest is for
# scores on the whole test set and on training examples.
WITH_COSTS, WITHOUT_COSTS, TRAINING = 0.85, 0.95, 0.85
LEAST = 3  # seconds for one training
LARGEST = 2**25  # bytes of saved scores


@dataclass(frozen=True)
class Shares:
    """Seconds for one training, and for that and its scores. Without a limit, both are infinite."""

    training: float
    whole: float

    @staticmethod
    def of(limit: float, trainings: int, jobs: int, costs: bool) -> "Shares":
        """The same for every training, and for the same command again: scores that are saved stay comparable."""
        if not math.isfinite(limit):
            return Shares(math.inf, math.inf)
        whole = limit * (WITH_COSTS if costs else WITHOUT_COSTS) / math.ceil(trainings / jobs)
        training = float(math.floor(whole * TRAINING))
        if training < LEAST:
            raise RegardError(
                f"{limit:.0f} seconds for {counted(trainings, 'training')}",
                expected=f"at least {LEAST} seconds for each",
                do="use a longer --time, fewer models or fewer --seeds",
            )
        return Shares(training, whole)


@dataclass
class Left:
    """Estimates how long `total` pieces of work will take, a few at a time, from those that are done."""

    total: int
    each: float  # seconds for one and those beside it, as far as it is known; NaN if not
    jobs: int = 1

    def __post_init__(self) -> None:
        self.began = self.latest = clock.monotonic()
        self.done = 0

    def finished(self) -> None:
        self.done, self.latest = self.done + 1, clock.monotonic()

    def seconds(self) -> float:
        """Until the last one is done; NaN while nothing is known."""
        now = clock.monotonic()
        if self.done:
            left = (self.latest - self.began) / self.done * (self.total - self.done) - (now - self.latest)
        else:
            left = self.each * math.ceil(self.total / self.jobs) - (now - self.began)
        return max(left, 0.0)  # in this order NaN stays


Wanted = Mapping[str, tuple[Mapping[str, Any], int, Path]]
"""Key → options, seed and folder of a run."""

Tick = Callable[[str, int, int, float], None]
"""Called while work is under way: what it is, how much of it is done, of how much, and the seconds left."""


def variants(pairs: Sequence[str]) -> dict[str, list[str]]:
    """Every combination by name: `["encoder=a,b", "dropout=0.1"]` → {"encoder=a": […], "encoder=b": […]}."""
    fixed, varied = [], []
    for pair in pairs:
        key, _, value = pair.partition("=")
        several = "," in value and not key.startswith("data.") and not value.startswith(("[", "{", '"', "'"))
        if several:
            varied.append([f"{key}={one.strip()}" for one in value.split(",") if one.strip()])
        else:
            fixed.append(pair)
    found = {" ".join(chosen): [*fixed, *chosen] for chosen in product(*varied)} if varied else {}
    if len(found) < 2:
        raise RegardError(
            "nothing to compare", expected="an option with several values, for example encoder=bilstm,disan,resan"
        )
    return found


def folder_of(name: str, seed: int) -> str:
    """Folder name for a variant: its letters, digits and dots, plus a hash if that would be ambiguous."""
    short = name.replace("encoder=", "").replace(" ", "_")
    plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in short)[:100]
    number = "" if plain == short.replace("=", "_") else "-" + blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{plain}{number}-seed{seed}"


def compare(
    task: str,
    pairs: Sequence[str],
    *,
    parse: Callable[[Sequence[str]], dict[str, Any]],
    out: str | Path,
    **how: Any,
) -> list[Row]:
    """Compares every combination of the given values; see `contest`."""
    return contest(task, {name: parse(some) for name, some in variants(pairs).items()}, out, **how)


def contest(
    task: str,
    kinds: Mapping[str, Mapping[str, Any]],
    out: str | Path,
    seeds: int = 3,
    jobs: int = 1,
    say: Callable[[str], None] = print,
    *,
    time: str = "",
    costs: bool = True,
    tick: Tick = lambda what, done, total, left: None,
) -> list[Row]:
    """Trains and measures models, each with its own options, and writes table.md, table.json and table.png to `out`,
    when all are trained and again after each timing. `time` limits all of it; without `costs` nothing is timed."""
    from regard.train.lock import lock
    from regard.train.run import Run

    began, limit, out = clock.monotonic(), seconds(time), Path(out)
    if Run.is_in(out):
        raise RegardError(f"{out} is a run", expected="a folder for several runs", do="use another --out")
    shares = Shares.of(limit, len(kinds) * seeds, jobs, costs)
    if math.isfinite(limit):
        if any("time" in options.get("train", {}) for options in kinds.values()):
            expected = "only one of them: --time limits the whole comparison, train.time each training"
            raise RegardError("--time and train.time", expected=expected)
        kinds = {name: merge(one, {"train": {"time": spelled(shares.training)}}) for name, one in kinds.items()}
    _possible(task, kinds)
    out.mkdir(parents=True, exist_ok=True)
    with lock(out):  # two at once would also be timed side by side
        ahead = "; then each model is timed" * costs + (f"; {spoken(limit)} in all" if math.isfinite(limit) else "")
        rows = _trained(task, kinds, out, seeds, jobs, shares.whole, ahead, say, tick)
        whole = {"task": task, "options": kinds, "seeds": seeds, "measure": rows[0].best}
        _write(out, rows, whole)
        if costs:
            rows = _timed(task, kinds, out, rows, began + limit, whole, say, tick)
    return rows


def _trained(
    task: str,
    kinds: Mapping[str, Mapping[str, Any]],
    out: Path,
    seeds: int,
    jobs: int,
    whole: float,
    ahead: str,
    say: Callable[[str], None],
    tick: Tick,
) -> list[Row]:
    """Trains all models that have no scores yet, each in `whole` seconds. The rows of the table, best first."""
    wanted: Wanted = {
        f"{name} seed {seed}": (kinds[name], seed, out / folder_of(name, seed))
        for seed in range(1, seeds + 1)
        for name in kinds
    }
    scores = _saved(task, wanted)
    new = {key: one for key, one in wanted.items() if key not in scores}
    say(_plan(len(kinds), seeds, len(scores), [one.get("train", {}).get("time", "") for one in kinds.values()]) + ahead)
    left = Left(len(new), whole if math.isfinite(whole) else math.nan, jobs)

    def ticked() -> None:
        tick("training", len(scores), len(wanted), left.seconds())

    with closing(scored(task, new, jobs, whole, ticked)) as results:
        for key, found in results:
            scores[key] = found
            left.finished()
            line = f"{len(scores)}/{len(wanted)}  {key}: {found['best']} {found['test']:.4g}"
            say(line + (f" (left {spoken(left.seconds())})" if len(scores) < len(wanted) else ""))
    rows = [_row(name, [scores[f"{name} seed {seed}"] for seed in range(1, seeds + 1)]) for name in kinds]
    lower = next(iter(scores.values()))["lower"]
    return sorted(rows, key=lambda row: statistics.mean(row.test), reverse=not lower)


def _plan(models: int, seeds: int, done: int, times: Sequence[str]) -> str:
    """What will be trained, in a line."""
    said = f"training {models} models × {counted(seeds, 'seed')} = {models * seeds} trainings"
    said += f", {done} of them done" if done else ""
    return said + (f", at most {times[0]} each" if times[0] and len(set(times)) == 1 else "")


def _timed(
    task: str,
    kinds: Mapping[str, Mapping[str, Any]],
    out: Path,
    rows: list[Row],
    deadline: float,
    whole: Mapping[str, Any],
    say: Callable[[str], None],
    tick: Tick,
) -> list[Row]:
    """Times one model after another until the deadline. The rows with what was measured, which are also written."""
    from regard import api

    # A folder of runs may have come from elsewhere; of the code that they name only what is asked for here is trusted.
    named = {name: tuple(outside(api.configure(task, options))) for name, options in kinds.items()}
    work = {name: (cost, str(out / folder_of(name, 1)), named[name]) for name in kinds}
    say(f"timing {len(work)} models")
    done, left = 0, Left(len(work), math.nan)

    def ticked() -> None:
        tick("timing", done, len(work), min(deadline - clock.monotonic(), left.seconds()))

    with closing(in_processes(work, 1, deadline, ticked)) as costs:
        for name, found in costs:
            rows = [replace(row, **found) if row.name == name else row for row in rows]
            _write(out, rows, whole)
            done += 1
            left.finished()
            figures = "{epoch_seconds:.1f} s an epoch, {test_seconds:.2f} s for the test, {memory_mib:,.0f} MiB"
            say(f"{done}/{len(work)}  {name}: {figures.format(**found)}")
    if done < len(work):
        say(f"the time is up: {done} of {len(work)} models are timed; repeat the command to time all of them")
    return rows


def _write(out: Path, rows: Sequence[Row], whole: Mapping[str, Any]) -> None:
    table = finite({**whole, **as_json(rows)})
    write_whole(out / "table.md", markdown(rows) + "\n")
    write_whole(out / "table.json", json.dumps(table, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_whole(out / "table.png", picture(rows))


def _row(name: str, scores: Sequence[Mapping[str, Any]]) -> Row:
    """The row of one model from the scores of its seeds."""
    lists: dict[str, Any] = {
        part: [one[part] for one in scores] for part in ("train", "valid", "test", "measures", "epochs", "tested")
    }
    chosen = [one["chosen"] for one in scores if one["chosen"] is not None]
    first, each = scores[0], None
    if first["each"] is not None:
        each = first["each"]["metric"], [one["each"]["scores"] for one in scores]
    return Row(
        name, first["best"], parameters=first["parameters"], chosen=chosen, held=first["held"], each=each, **lists
    )


def _possible(task: str, kinds: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises before training if options, data or sizes are invalid."""
    from regard import api

    if any("seed" in options.get("train", {}) for options in kinds.values()):
        raise RegardError("train.seed is set by compare", do="set the number of seeds with --seeds")
    tasks = [api.make_task(api.configure(task, options)) for options in kinds.values()]
    if len({made.metrics.best for made in tasks}) > 1:
        raise RegardError("the variants have different best_metric", do="use one best_metric for all")
    first = api.prepare(task, next(iter(kinds.values()))).task
    for made in tasks[1:]:
        made.restore(first.keep())  # the same words do: it is the sizes of the parts that are tried
        network_of(made)


def scored(
    task: str, wanted: Wanted, jobs: int, whole: float = math.inf, tick: Callable[[], None] = lambda: None
) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """Scores of runs, by key. Saved scores (same options, same files) come first, without training. Each training has
    `whole` seconds for itself and its scores."""
    import torch

    kept, threads = _saved(task, wanted), max(1, torch.get_num_threads() // jobs)
    asked = {key: _asked(task, options, seed) for key, (options, seed, _) in wanted.items()}
    yield from kept.items()
    work: dict[str, tuple[Any, ...]] = {
        key: (trained, task, options, seed, str(folder), threads, whole)
        for key, (options, seed, folder) in wanted.items()
        if key not in kept
    }
    with closing(in_processes(work, jobs, tick=tick)) as results:
        for key, scores in results:
            if finite(scores) == scores:  # JSON has no word for others: they are taken again
                saved = {"asked": asked[key], "scores": scores}
                write_whole(Path(f"{wanted[key][2]}.json"), json.dumps(saved, ensure_ascii=False) + "\n")
            yield key, scores


def _saved(task: str, wanted: Wanted) -> dict[str, dict[str, Any]]:
    """The scores, by key, of runs that are trained already with the same options on the same files."""
    from regard.train.run import Run

    found = {}
    for key, (options, seed, folder) in wanted.items():
        path = Path(f"{folder}.json")
        kept = _kept(path) if path.exists() and Run.is_in(folder) else {}
        if kept.get("asked") == _asked(task, options, seed):
            found[key] = kept["scores"]
    return found


def _kept(path: Path) -> dict[str, Any]:
    """Saved scores, or None if the file is not valid; the run is then scored again."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_whole(path, LARGEST))
        if isinstance(found, dict) and isinstance(found.get("scores"), dict):
            return found
    return {}


def _asked(task: str, options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Everything that scores depend on, as it comes back from JSON."""
    given = [Path(one) for value in options.get("data", {}).values() for one in str(value).split(",")]
    files = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in given if path.is_file()]
    whole = {"version": 2, "task": task, "options": options, "seed": seed, "files": files}
    return json.loads(json.dumps(whole))  # type: ignore[no-any-return]


def trained(
    task: str, options: Mapping[str, Any], seed: int, folder: str, threads: int, whole: float = math.inf
) -> dict[str, Any]:
    """Trains one run, unless it is trained already, and returns its scores, in `whole` seconds if that is possible."""
    began = clock.monotonic()
    import torch

    from regard import api
    from regard.find import find

    torch.set_num_threads(threads)
    result = api.train(task, out=folder, quiet=True, started=began, **merge(options, {"train": {"seed": seed}}))
    if result.outcome.stopped is not None:
        raise KeyboardInterrupt
    model, metrics, splits = result.model, result.model.task.metrics, result.splits
    results, seen = _answers(model, splits, result.results, lambda: whole - (clock.monotonic() - began))
    measures = model.task.measure(results)
    each = next(iter(metrics.each(results).items()), None) if results.predictions else None
    chosen = measures.get("chosen")
    return {
        "best": metrics.best,
        "lower": find("measure", metrics.best).better == "lower",
        "test": float(measures[metrics.best]),
        "train": float(seen[metrics.best]),
        "valid": result.outcome.best,
        "chosen": None if chosen is None else float(chosen),
        "measures": dict(measures),
        "parameters": parameters(model.network),
        "epochs": round(result.outcome.epochs, 3),
        "tested": len(results.examples),
        "held": len(splits.test or splits.valid),
        "each": each and {"metric": each[0], "scores": [round(score, 6) for score in each[1]]},
    }


def _answers(model: Any, splits: Any, tested: Any, room: Callable[[], float]) -> tuple[Any, Mapping[str, Any]]:
    """Answers to the test set, and measures of a part of the training set, in the time there is.

    A test that was cut to fit a time limit is done in full, to be on equal terms with the others, if there is time.
    """
    from regard.train.budget import seconds_each

    held, seen = splits.test or splits.valid, splits.train[:SHARE]
    limited = math.isfinite(room())
    each = seconds_each(model.results, seen, 0.1 * room(), clock.monotonic) if limited else 0.0
    if len(tested.examples) < len(held) and each * len(held) <= room():
        tested = model.results(held)
    most = max(FEWEST, int(room() / each)) if each else SHARE
    return tested, model.evaluate(seen[:most])
