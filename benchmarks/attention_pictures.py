"""Time and memory against length, drawn from what `attention.py --set lengths` kept.

    python benchmarks/attention_pictures.py                 # the GPU's figures, else the CPU's
    python benchmarks/attention_pictures.py attention_lengths_cpu

Writes docs/attention_time.png and docs/attention_memory.png: both axes logarithmic, so that a straight line's slope
is the power of the length. Solid: regard; dotted: the same score as PyTorch eager; dashed: no attention at all.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

from regard.files import write_whole

root = Path(__file__).resolve().parent.parent
PASSES = ("forward", "forward + backward")
COLOURS = {
    "feature-wise": "#b2182b",
    "additive": "#e08214",
    "cosine": "#35978f",
    "bilinear": "#2166ac",
    "scaled_dot": "#4393c3",
    "dot": "#74add1",
    "learned_query": "#7b3294",
    "no attention": "#333333",
}
EAGER = ("feature-wise", "additive")  # where it differs from a fused kernel by more than a line can show
UNITS = {"ms": "milliseconds", "mib": "MiB beyond the inputs"}


def draw(path: Path, docs: Path = root / "docs") -> list[Path]:
    """Both pictures of one file of results."""
    record = json.loads(path.read_text(encoding="utf-8"))
    kinds = (("time", "ms"), ("memory", "mib"))
    return [_picture(record, unit, docs / f"attention_{name}.png") for name, unit in kinds]


def _picture(record: Mapping[str, Any], unit: str, path: Path) -> Path:
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = record["figures"]["rows"]
    seen = [row[key] for row in rows for way in ("regard", "eager") if row.get(key := f"{way}_{unit}")]
    figure = Figure(figsize=(12.8, 6.4), dpi=125, layout="constrained")
    FigureCanvasAgg(figure)
    both = figure.subplots(1, 2)
    for axes, passes in zip(both, PASSES, strict=True):
        axes.set(xscale="log", yscale="log", ylim=(min(seen) / 2, max(seen) * 2))
        _panel(axes, [row for row in rows if row["passes"] == passes], unit)
        axes.set_title(passes, fontsize=13, loc="left")
    both[0].set_ylabel(UNITS[unit], fontsize=12)
    first, where = rows[0], record["hardware"]
    threads = record["figures"]["threads"]
    machine = where["cpu"] + f", {threads} threads" if record["figures"]["device"] == "cpu" else where["gpu"]
    what = {"ms": "Time", "mib": "Peak memory"}[unit]
    figure.suptitle(
        f"{what} of attention by length (queries = keys), batch {first['batch']}, width {first['width']}, "
        f"{first['dtype']}, {machine}",
        fontsize=13,
    )
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return write_whole(path, content.getvalue())


def _panel(axes: Any, rows: Sequence[Mapping[str, Any]], unit: str) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    lengths = sorted({row["length"] for row in rows})
    ends: list[tuple[float, float, str, str]] = []
    for score, colour in COLOURS.items():
        for way in ("regard", "eager") if score in EAGER else ("regard",):
            points = [(r["length"], r[f"{way}_{unit}"]) for r in rows if r["score"] == score and f"{way}_{unit}" in r]
            points = sorted(point for point in points if point[1] > 0)
            if not points:
                continue
            style = ":" if way == "eager" else "--" if score == "no attention" else "-"
            axes.plot(*zip(*points, strict=True), style, color=colour, linewidth=2.2, marker="o", markersize=4)
            name = "no attention (GRU)" if score == "no attention" else score
            ends.append((*points[-1], name + (", eager" if way == "eager" else ""), colour))
    axes.set_xlabel("length of query and of keys", fontsize=12)
    axes.set_xticks(lengths, [str(n) for n in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlim(lengths[0] * 0.85, lengths[-1] * 6)  # room for the names
    axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    _powers(axes, lengths)
    _names(axes, ends, lengths[-1])


def _powers(axes: Any, lengths: Sequence[int]) -> None:
    """How steep n and n² are, in the empty corner at the upper left."""
    start, end = lengths[0], lengths[2]
    for power, name in ((1, "O(n + m)"), (2, "O(n m)")):
        begin = axes.get_ylim()[1] * 0.6 / (end / start) ** 2
        top = begin * (end / start) ** power
        axes.plot([start, end], [begin, top], color="#999999", linewidth=1.2)
        axes.annotate(name, (end, top), xytext=(5, 0), textcoords="offset points", color="#777777", va="center")


def _names(axes: Any, ends: list[tuple[float, float, str, str]], last: float) -> None:
    """Each line's name at its end, moved apart where lines end together."""
    low, high = axes.get_ylim()
    step = log(high / low) * 0.04
    ends = sorted(ends, key=lambda end: end[1])
    places = [log(y) for _, y, _, _ in ends]
    for _ in range(200):  # each pair that is too near moves apart, half the way each
        for i, (below, above) in enumerate(pairwise(places)):
            push = max(step - (above - below), 0.0) / 2
            places[i] -= push
            places[i + 1] += push
    for (x, y, label, colour), place in zip(ends, places, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 3, "relpos": (0, 0.5)}
        at = (last * 1.35, exp(place))
        axes.annotate(label, (x, y), xytext=at, color=colour, fontsize=11, va="center", arrowprops=line)


if __name__ == "__main__":
    results = root / "benchmarks" / "results"
    names = sys.argv[1:] or ["attention_lengths_gpu", "attention_lengths_cpu"]
    found = [results / f"{name}.json" for name in names if (results / f"{name}.json").is_file()]
    if not found:
        raise SystemExit(f"no results named {' or '.join(names)}; run python benchmarks/attention.py --set lengths")
    print(*draw(found[0]), sep="\n")
