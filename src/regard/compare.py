"""Several models on equal terms: the same data, the same budget, the same seeds; one table and one picture.

    compare("entail", ["encoder=bilstm,disan,resan", "train.epochs=5"], seeds=3, out="compare/entail")

An option whose value is several names with commas between is varied (options of `data` never are); every combination
is trained once for each seed, `jobs` of them at a time. When all are trained each model is timed alone, one after the
other, on the same machine (cost.py). The tables are written as soon as all are trained, and again with every cost.
Scores are kept beside each run: a comparison that was stopped goes on where it stood, at once.
"""

import io
import json
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any

from regard.cost import cost, parameters
from regard.errors import RegardError
from regard.files import finite, read_whole, write_whole
from regard.markdown import escaped
from regard.processes import in_processes
from regard.room import network_of
from regard.trust import outside

__all__ = ["Row", "compare", "contest", "folder_of", "markdown", "scored", "variants"]

SHARE = 10_000  # examples of the training set that are scored


@dataclass(frozen=True)
class Row:
    """One model: what was varied, and what it came to over the seeds."""

    name: str
    best: str  # the measure
    parameters: int  # without the words' vectors
    train: list[float]
    valid: list[float]  # what a recipe may be chosen by
    test: list[float]
    chosen: list[float]  # the share of tokens, where a model chooses
    measures: list[dict[str, Any]]
    epoch_seconds: float | None = None  # this and what follows: None until it is measured
    test_seconds: float | None = None
    memory_mib: float | None = None


def variants(pairs: Sequence[str]) -> dict[str, list[str]]:
    """Every combination by a name for it: `["encoder=a,b", "dropout=0.1"]` → {"encoder=a": […], "encoder=b": […]}."""
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
        raise RegardError("nothing to compare", expected="an option with several values, as encoder=bilstm,disan,resan")
    return found


def folder_of(name: str, seed: int) -> str:
    """A folder's name from what was varied: letters, digits and dots of it; what these would not tell apart has a
    number of its own."""
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
    seeds: int = 3,
    jobs: int = 1,
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Every combination of the values given, on equal terms; see `contest`."""
    return contest(task, {name: parse(some) for name, some in variants(pairs).items()}, out, seeds, jobs, say)


def contest(
    task: str,
    kinds: Mapping[str, Mapping[str, Any]],
    out: str | Path,
    seeds: int = 3,
    jobs: int = 1,
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Train models, each with options of its own, measure, and write table.md, table.json and table.png into `out`:
    when all are trained, and with every cost."""
    from regard.train.lock import lock
    from regard.train.run import Run

    out = Path(out)
    if Run.is_in(out):
        raise RegardError(f"{out} is a run itself", expected="a folder for several", do="choose another --out")
    _possible(task, kinds)
    out.mkdir(parents=True, exist_ok=True)
    with lock(out):  # two at once would also be timed side by side
        return _contest(task, kinds, out, seeds, jobs, say)


def _contest(
    task: str,
    kinds: Mapping[str, Mapping[str, Any]],
    out: Path,
    seeds: int,
    jobs: int,
    say: Callable[[str], None],
) -> list[Row]:
    from regard import api

    wanted = {
        f"{name} seed {seed}": (kinds[name], seed, out / folder_of(name, seed))
        for seed in range(1, seeds + 1)
        for name in kinds
    }
    began, scores = time.monotonic(), dict[str, dict[str, Any]]()
    with closing(scored(task, wanted, jobs)) as results:
        for key, found in results:
            scores[key] = found
            left = (time.monotonic() - began) / len(scores) * (len(wanted) - len(scores))
            line = f"{len(scores)}/{len(wanted)}  {key}: {found['best']} {found['test']:.4g}"
            say(line + (f" (left {_clock(left)})" if len(scores) < len(wanted) else ""))
    rows = [_row(name, [scores[f"{name} seed {seed}"] for seed in range(1, seeds + 1)]) for name in kinds]
    lower = next(iter(scores.values()))["lower"]
    rows.sort(key=lambda row: statistics.mean(row.test), reverse=not lower)
    told = {"task": task, "options": kinds, "seeds": seeds, "measure": rows[0].best}

    def write() -> None:
        whole = finite(told | {"rows": [vars(row) for row in rows]})
        write_whole(out / "table.md", markdown(rows) + "\n")
        write_whole(out / "table.json", json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        write_whole(out / "table.png", picture(rows, rows[0].best))

    write()
    # A folder of runs may have come from elsewhere; of the code that they name only what is asked for here is trusted.
    named = {name: tuple(outside(api.configure(task, options))) for name, options in kinds.items()}
    work = {name: (cost, str(out / folder_of(name, 1)), named[name]) for name in kinds}
    with closing(in_processes(work, 1)) as costs:
        for number, (name, found) in enumerate(costs, 1):
            rows = [replace(row, **found) if row.name == name else row for row in rows]
            write()
            figures = "{epoch_seconds:.1f} s an epoch, {test_seconds:.2f} s for the test, {memory_mib:,.0f} MiB"
            say(f"{number}/{len(kinds)}  {name}: {figures.format(**found)}")
    return rows


def _row(name: str, scores: Sequence[Mapping[str, Any]]) -> Row:
    """A model by the scores of its seeds."""
    train, valid, test, measures = ([one[part] for one in scores] for part in ("train", "valid", "test", "measures"))
    chosen = [one["chosen"] for one in scores if one["chosen"] is not None]
    return Row(name, scores[0]["best"], scores[0]["parameters"], train, valid, test, chosen, measures)


def _possible(task: str, kinds: Mapping[str, Mapping[str, Any]]) -> None:
    """What cannot be is told before anything is trained: options, data, sizes that make no model."""
    from regard import api

    if any("seed" in options.get("train", {}) for options in kinds.values()):
        raise RegardError("train.seed is set by compare itself", do="say with --seeds how many there are")
    tasks = [api.make_task(api.configure(task, options)) for options in kinds.values()]
    if len({made.best for made in tasks}) > 1:
        raise RegardError("models kept by different measures", do="give one value for best=")
    first = api.prepare(task, next(iter(kinds.values()))).task
    for made in tasks[1:]:
        made.restore(first.keep())  # the same words do: it is the sizes of the parts that are tried
        network_of(made)


Wanted = Mapping[str, tuple[Mapping[str, Any], int, Path]]


def scored(task: str, wanted: Wanted, jobs: int) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """Scores of runs, each wanted by a key with its options, seed and folder; those that are there already come first,
    and at once: their scores were kept beside them, under the same options and of the same files."""
    import torch

    from regard.train.run import Run

    threads, work = max(1, torch.get_num_threads() // jobs), dict[str, tuple[Any, ...]]()
    asked = {key: _asked(task, options, seed) for key, (options, seed, _) in wanted.items()}
    for key, (options, seed, folder) in wanted.items():
        kept = Path(f"{folder}.json")
        found = _kept(kept) if kept.exists() and Run.is_in(folder) else {}
        if found.get("asked") == asked[key]:
            yield key, found["scores"]
        else:
            work[key] = (trained, task, options, seed, str(folder), threads)
    with closing(in_processes(work, jobs)) as results:
        for key, scores in results:
            if finite(scores) == scores:  # JSON has no word for others: they are taken again
                whole = json.dumps({"asked": asked[key], "scores": scores}, indent=1, ensure_ascii=False)
                write_whole(Path(f"{wanted[key][2]}.json"), whole + "\n")
            yield key, scores


def _kept(path: Path) -> dict[str, Any]:
    """Scores that were written here; none where the file is not one of ours: the run is asked for them again."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_whole(path, 2**20))
        if isinstance(found, dict) and isinstance(found.get("scores"), dict):
            return found
    return {}


def _asked(task: str, options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """All that scores hang on, as JSON gives it back."""
    given = [Path(one) for value in options.get("data", {}).values() for one in str(value).split(",")]
    files = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in given if path.is_file()]
    whole = {"task": task, "options": options, "seed": seed, "files": files}
    return json.loads(json.dumps(whole))  # type: ignore[no-any-return]


def trained(task: str, options: Mapping[str, Any], seed: int, folder: str, threads: int) -> dict[str, Any]:
    """One run, trained to its end (or found trained), and its scores."""
    import torch

    from regard import api
    from regard.find import find

    torch.set_num_threads(threads)
    asked = api.merge(options, {"train": {"seed": seed}})
    result = api.train(task, out=folder, quiet=True, **asked)
    if result.outcome.stopped is not None:
        raise KeyboardInterrupt
    model, best = result.model, result.model.task.best
    held = result.splits.test or result.splits.valid
    # A test that was cut to fit a time limit would not be on equal terms.
    measures = result.test if result.tested == len(held) else model.evaluate(held)
    seen = model.evaluate(result.splits.train[:SHARE])
    chosen = measures.get("chosen")
    return {
        "best": best,
        "lower": find("measure", best).better == "lower",
        "test": float(measures[best]),
        "train": float(seen[best]),
        "valid": result.outcome.best,
        "chosen": None if chosen is None else float(chosen),
        "measures": dict(measures),
        "parameters": parameters(model.network),
    }


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    said = f"{statistics.mean(values):.4g}"
    return said if len(values) < 2 else f"{said} ± {statistics.stdev(values):.2g}"


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def markdown(rows: Sequence[Row]) -> str:
    """The table, best first."""
    chosen, best = any(row.chosen for row in rows), escaped(rows[0].best)

    def lines() -> Iterator[str]:
        head = ["model", "parameters", "s/epoch", "test s", "peak MiB", f"train {best}", f"test {best}"]
        head += ["tokens chosen"] * chosen
        yield f"| {' | '.join(head)} |"
        yield "|" + "---|" * len(head)
        for row in rows:
            cells = [
                escaped(row.name), f"{row.parameters / 1e6:.2f}m",
                _figure(row.epoch_seconds, ".1f"), _figure(row.test_seconds, ".2f"), _figure(row.memory_mib, ",.0f"),
                _spread(row.train), _spread(row.test),
            ]  # fmt: skip
            cells += [_spread(row.chosen) if row.chosen else ""] * chosen
            yield f"| {' | '.join(cells)} |"

    return "\n".join(lines())


def picture(rows: Sequence[Row], best: str) -> bytes:
    """The score of every seed, and what an epoch costs, side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [row.name.replace("encoder=", "") for row in rows][::-1]
    figure = Figure(figsize=(9, 0.9 + 0.42 * len(rows)), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    score, epoch = figure.subplots(1, 2, sharey=True)
    for place, row in enumerate(rows[::-1]):
        score.plot(row.test, [place] * len(row.test), "o", color="#1f5f99", alpha=0.6, markersize=5)
        score.plot([statistics.mean(row.test)], [place], "|", color="#d55e00", markersize=16, markeredgewidth=2)
        epoch.barh(place, row.epoch_seconds or 0.0, color="#9db8d2")
    score.set_yticks(range(len(names)), names, parse_math=False)
    score.set_title(f"test {best}, every seed and the mean", fontsize=10, parse_math=False)
    epoch.set_title("seconds an epoch", fontsize=10)
    for axes in (score, epoch):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return made.getvalue()
