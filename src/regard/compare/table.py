"""The table of a comparison as Markdown and JSON, and its picture.

markdown(rows);  as_json(rows);  picture(rows)       # rows: best first
"""

import io
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from regard.compare.conclusions import Row, conclusions
from regard.errors import counted
from regard.intervals import Estimate, mean
from regard.markdown import escaped

__all__ = ["as_json", "markdown", "picture"]

blue, orange, light = "#1f5f99", "#d55e00", "#9db8d2"


def markdown(rows: Sequence[Row]) -> str:
    """The table, best first, and what can be concluded from it."""
    return "\n".join([*_table(rows), "", *_notes(rows), "", *(f"- {escaped(one.text)}" for one in conclusions(rows))])


def _table(rows: Sequence[Row]) -> Iterator[str]:
    chosen, timed = any(row.chosen for row in rows), any(row.epoch_seconds is not None for row in rows)
    best = escaped(rows[0].best)
    head = ["model", "parameters", "epochs", *["s/epoch", "test s", "peak MiB"] * timed]
    head += [f"train {best}", f"test {best}", *["tokens chosen"] * chosen]
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        cells = [escaped(row.name), f"{row.parameters / 1e6:.2f}m", f"{statistics.mean(row.epochs):.3g}"]
        if timed:
            costs = (row.epoch_seconds, ".1f"), (row.test_seconds, ".2f"), (row.memory_mib, ",.0f")
            cells += ["–" if value is None else format(value, form) for value, form in costs]
        cells += [_spread(row.train), _spread(row.test), *[_spread(row.chosen) if row.chosen else ""] * chosen]
        yield f"| {' | '.join(cells)} |"


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    seeds = len(rows[0].test)
    yield f"±: 95 % interval of the mean over {seeds} seeds (Student's t)." if seeds > 1 else "One seed: no intervals."
    if any(count < row.held for row in rows for count in row.tested):
        least = min(count for row in rows for count in row.tested)
        whole = counted(rows[0].held, "example")
        yield f"Tested on {least:,} to {rows[0].held:,} of {whole}: the time did not allow more."


def _spread(values: Sequence[float]) -> str:
    """The mean and half of its 95 % interval."""
    found = mean(values)
    return f"{found.value:.4g}" if found.margin is None else f"{found.value:.4g} ± {found.margin:.2g}"


def _bounds(found: Estimate | None) -> Any:
    return None if found is None else {"mean": found.value, "low": found.low, "high": found.high}


def as_json(rows: Sequence[Row]) -> dict[str, Any]:
    """`rows` with their intervals, and `conclusions`. Scores of single examples are left to the runs' own files."""
    return {
        "rows": [
            {key: value for key, value in vars(row).items() if key != "each"}
            | {"intervals": {part: _bounds(mean(getattr(row, part))) for part in ("train", "valid", "test")}}
            for row in rows
        ],
        "conclusions": [
            vars(one) | {"seeds": _bounds(one.seeds), "examples": _bounds(one.examples)} for one in conclusions(rows)
        ],
    }


def picture(rows: Sequence[Row]) -> bytes:
    """Plot of the score of every seed, the mean with its interval, and the time per epoch where it was measured."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [row.name.replace("encoder=", "") for row in rows][::-1]
    timed = any(row.epoch_seconds is not None for row in rows)
    figure = Figure(figsize=(9 if timed else 6, 1.0 + 0.42 * len(rows)), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    score, *others = figure.subplots(1, 1 + timed, sharey=True, squeeze=False)[0]
    every = [value for row in rows for value in row.test]
    for place, row in enumerate(rows[::-1]):
        found = mean(row.test)
        if found.margin is not None:
            score.errorbar([found.value], [place], xerr=[found.margin], color=orange, capsize=4, linewidth=1.2)
        score.plot(row.test, [place] * len(row.test), "o", color=blue, alpha=0.6, markersize=5)
        score.plot([found.value], [place], "|", color=orange, markersize=14, markeredgewidth=2)
        for epoch in others:
            epoch.barh(place, row.epoch_seconds or 0.0, color=light)
    low, high = score.get_xlim()
    room = 2 * (max(every) - min(every)) or max(abs(every[0]), 1e-6)  # wider intervals are cut at the edge
    score.set_xlim(max(low, min(every) - room), min(high, max(every) + room))
    score.set_yticks(range(len(names)), names, parse_math=False)
    score.set_title(f"test {rows[0].best}: seeds, mean, 95 % interval", fontsize=10, parse_math=False)
    for epoch in others:
        epoch.set_title("seconds an epoch", fontsize=10)
    for axes in (score, *others):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return made.getvalue()
