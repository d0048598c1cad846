"""Several models on equal terms: the same data, the same budget, the same seeds; one table and one picture.

    compare("entail", ["encoder=bilstm,disan,resan", "train.epochs=5"], seeds=3, out="compare/entail")

An option whose value is several names with commas between is varied (options of `data` never are); every combination
is trained once for each seed, `jobs` of them at a time. When all are trained each model is timed alone, one after the
other, on the same machine: seconds an epoch (the mean over a training's phases), seconds for the test set, and the
most memory a training step took (on a GPU; else the process with its data). A comparison that was stopped goes on where
it stood.
"""

import io
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.files import finite, write_whole
from regard.processes import in_processes

__all__ = ["Row", "compare", "contest", "folder_of", "markdown", "trained", "variants"]

WARM, TIMED = 10, 40  # steps before the clock starts, and steps on it
WORDS = {"words", "embedding"}  # modules whose parameters are vectors of words
SHARE = 10_000  # examples of the training set that are scored


@dataclass(frozen=True)
class Row:
    """One model: what was varied, and what it came to over the seeds."""

    name: str
    best: str  # the measure
    parameters: int  # without the words' vectors
    epoch_seconds: float
    test_seconds: float
    memory_mib: float
    train: list[float]
    valid: list[float]  # what a recipe may be chosen by
    test: list[float]
    chosen: list[float]  # the share of tokens, where a model chooses
    measures: list[dict[str, Any]]


def variants(pairs: Sequence[str]) -> dict[str, list[str]]:
    """Every combination by a name for it: `["encoder=a,b", "drop=0.1"]` → {"encoder=a": […], "encoder=b": […]}."""
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
    """Train models, each with options of its own, measure, and write table.md, table.json and table.png into `out`."""
    import torch

    from regard.train.run import Run

    out = Path(out)
    if Run.is_in(out):
        raise RegardError(f"{out} is a run itself", expected="a folder for several", do="choose another --out")
    _possible(task, kinds)
    runs = [(name, seed) for seed in range(1, seeds + 1) for name in kinds]
    threads = max(1, torch.get_num_threads() // jobs)
    work = {
        f"{name} seed {seed}": (trained, task, kinds[name], seed, str(out / folder_of(name, seed)), threads)
        for name, seed in runs
    }
    began, scores = time.monotonic(), dict[str, dict[str, Any]]()
    with closing(in_processes(work, jobs)) as results:
        for key, found in results:
            scores[key] = found
            left = (time.monotonic() - began) / len(scores) * (len(runs) - len(scores))
            line = f"{len(scores)}/{len(runs)}  {key}: {found['best']} {found['test']:.4g}"
            say(line + (f" (left {_clock(left)})" if len(scores) < len(runs) else ""))
    rows = []
    with closing(in_processes({name: (_cost, str(out / folder_of(name, 1))) for name in kinds}, 1)) as costs:
        for name, cost in costs:
            mine = [scores[f"{name} seed {seed}"] for seed in range(1, seeds + 1)]
            rows.append(
                Row(name, mine[0]["best"], **cost,
                    train=[one["train"] for one in mine], valid=[one["valid"] for one in mine],
                    test=[one["test"] for one in mine],
                    chosen=[one["chosen"] for one in mine if one["chosen"] is not None],
                    measures=[one["measures"] for one in mine])
            )  # fmt: skip
    best, lower = rows[0].best, next(iter(scores.values()))["lower"]
    rows.sort(key=lambda row: statistics.mean(row.test), reverse=not lower)
    write_whole(out / "table.md", markdown(rows) + "\n")
    told = {"task": task, "options": kinds, "seeds": seeds, "measure": best, "rows": [vars(row) for row in rows]}
    write_whole(out / "table.json", json.dumps(finite(told), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_whole(out / "table.png", picture(rows, best))
    return rows


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
        api._network(made)


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
    measures = result.test or model.evaluate(held)
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
        "parameters": _parameters(model.network),
    }


def _parameters(network: Any) -> int:
    """How many there are, but for the words' vectors."""
    return sum(p.numel() for name, p in network.named_parameters() if not WORDS & {*name.split(".")})


def _cost(folder: str) -> dict[str, Any]:
    """What a model of this run costs, alone on the machine: parameters, time and memory."""
    import torch

    from regard import api
    from regard.data.batch import batches
    from regard.train.run import Run
    from regard.train.step import step

    train = Run.open(Path(folder)).config["train"]
    model = api.load(folder, train["device"], trust=True)  # it was trained here
    task, network = model.task, model.network
    splits = model.data()
    device = next(network.parameters()).device
    items = task.items(splits.train)
    rows = batches([i.lengths for i in items], tokens=train["tokens"], rows=train["rows"], seed=1, epoch=0)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=device.type == "cuda")
    network.train()

    def wait() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    def steps(some: Sequence[list[int]]) -> int:
        """Spread over a whole training: a model whose phases cost differently costs what it does on average."""
        for number, one in enumerate(some):
            task.advance(network, number / max(1, len(some) - 1))
            batch = task.collate([items[row] for row in one]).to(device)
            step(task, network, batch, optimiser, clip=train["clip"], precision=train["precision"])
        return sum(map(len, some))

    chosen = (rows * (1 + (WARM + TIMED) // len(rows)))[: WARM + TIMED]
    steps(chosen[:WARM])
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    start = wait()
    seen = steps(chosen[WARM:])
    epoch = (wait() - start) / seen * len(items)
    if device.type == "cuda":
        memory = torch.cuda.max_memory_allocated(device) / 2**20
    else:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    network.eval()
    held = splits.test or splits.valid
    model.evaluate(held[:200])
    start = wait()
    model.evaluate(held)
    return {
        "parameters": _parameters(network),
        "epoch_seconds": round(epoch, 3),
        "test_seconds": round(wait() - start, 3),
        "memory_mib": round(memory, 1),
    }


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    said = f"{statistics.mean(values):.4g}"
    return said if len(values) < 2 else f"{said} ± {statistics.stdev(values):.2g}"


def markdown(rows: Sequence[Row]) -> str:
    """The table, best first."""
    chosen, best = any(row.chosen for row in rows), rows[0].best

    def lines() -> Iterator[str]:
        head = ["model", "parameters", "s/epoch", "test s", "peak MiB", f"train {best}", f"test {best}"]
        head += ["tokens chosen"] * chosen
        yield f"| {' | '.join(head)} |"
        yield "|" + "---|" * len(head)
        for row in rows:
            cells = [
                row.name.replace("|", "\\|"), f"{row.parameters / 1e6:.2f}m", f"{row.epoch_seconds:.1f}",
                f"{row.test_seconds:.2f}", f"{row.memory_mib:,.0f}", _spread(row.train), _spread(row.test),
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
    score, cost = figure.subplots(1, 2, sharey=True)
    for place, row in enumerate(rows[::-1]):
        score.plot(row.test, [place] * len(row.test), "o", color="#1f5f99", alpha=0.6, markersize=5)
        score.plot([statistics.mean(row.test)], [place], "|", color="#d55e00", markersize=16, markeredgewidth=2)
        cost.barh(place, row.epoch_seconds, color="#9db8d2")
    score.set_yticks(range(len(names)), names, parse_math=False)
    score.set_title(f"test {best}, every seed and the mean", fontsize=10, parse_math=False)
    cost.set_title("seconds an epoch", fontsize=10)
    for axes in (score, cost):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return made.getvalue()
