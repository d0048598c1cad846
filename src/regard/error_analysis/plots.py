"""The plots of an error report: confusions, F1 by label, score by input length, residuals and missed words.

plots(report)       # {"confusion": b"\\x89PNG…", "by_length": …}; only what the report has
"""

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from regard.look.heatmap import drawable

__all__ = ["plots"]

blue, orange, light = "#1f5f99", "#d55e00", "#9db8d2"
LABELS = 20  # of a confusion matrix; the rest are one row and one column
BARS = 20
LONGEST = 24  # characters of a label


def plots(report: Mapping[str, Any]) -> dict[str, bytes]:
    """PNG files by name."""
    found = {}
    if "by_label" in report:
        found["confusion"] = _confusion(report)
        found["by_label"] = _by_label(report["by_label"])
    if len(report["by_length"]) > 1:
        found["by_length"] = _groups(report["by_length"], report, "input length")
    if "by_references" in report:
        found["by_references"] = _groups(report["by_references"], report, "number of references")
    for name, rows in report.get("by_group", {}).items():
        if len(rows) > 1:
            found[f"by_{name.replace(' ', '_')}"] = _groups(rows, report, name)
    if "residuals" in report:
        found["residuals"] = _residuals(report["residuals"])
    if report.get("missed"):
        found["missed"] = _missed(report["missed"])
    return found


def _drawn(width: float, height: float, draw: Callable[[Axes], None], title: str, grid: bool = True) -> bytes:
    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw(axes)
    axes.set_title(title, fontsize=10, parse_math=False)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if grid:
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
    made = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(made, format="png", metadata={"Software": None})
    return made.getvalue()


def _confusion(report: Mapping[str, Any]) -> bytes:
    """Rows are true labels, each as shares of its examples; the numbers are counts."""
    names = [row["label"] for row in report["by_label"]]
    shown = names if len(names) <= LABELS + 1 else names[:LABELS]
    place = {name: number for number, name in enumerate(shown)}
    size = len(shown) + (len(shown) < len(names))
    counts = np.zeros((size, size), dtype=np.int64)
    for one in report["confusions"]:
        counts[place.get(one["true"], size - 1), place.get(one["predicted"], size - 1)] += one["count"]
    labels, fonts = drawable([*shown, *["(others)"] * (size > len(shown))], LONGEST)
    style: dict[str, Any] = {"family": fonts, "parse_math": False}

    def draw(axes: Axes) -> None:
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, column in zip(*counts.nonzero(), strict=True):
            color = "white" if shares[row, column] > 0.55 else "black"
            number = f"{counts[row, column]:,}"
            axes.text(column, row, number, ha="center", va="center", fontsize=7, color=color)
        axes.set_xticks(range(size), labels, rotation=45, ha="right", rotation_mode="anchor", **style)
        axes.set_yticks(range(size), labels, **style)
        axes.set(xlabel="predicted", ylabel="true")

    side = 2.2 + 0.34 * size
    return _drawn(side + 0.6, side, draw, "Confusion matrix", grid=False)


def _by_label(rows: Sequence[Mapping[str, Any]]) -> bytes:
    some = sorted(rows[:BARS], key=lambda row: row["f1"], reverse=True)

    def draw(axes: Axes) -> None:
        _bars(axes, [row["label"] for row in some], [row["f1"] for row in some])
        axes.set(xlim=(0, 1.02), xlabel="F1")

    title = "F1 by label" if len(some) == len(rows) else f"F1 of the {BARS} most frequent labels"
    return _drawn(4.8, 1.1 + 0.26 * len(some), draw, title)


def _bars(axes: Axes, names: Sequence[str], values: Sequence[float | int], behind: Sequence[int] = ()) -> None:
    """One bar a name, from the top down; longer ones behind them in a light colour."""
    labels, fonts = drawable(list(names), LONGEST)
    if behind:
        axes.barh(range(len(names)), behind, color=light)
    axes.barh(range(len(names)), values, color=blue)
    axes.set_yticks(range(len(names)), labels, family=fonts, parse_math=False)
    axes.invert_yaxis()


def _groups(rows: Sequence[Mapping[str, Any]], report: Mapping[str, Any], what: str) -> bytes:
    """The mean of the first score in each group, with its interval."""
    name = next(iter(report["scores"]), "")

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            if found := row["scores"].get(name):
                axes.bar(place, found["mean"], color=light)
                if found["low"] is not None:
                    ends = [[found["mean"] - found["low"]], [found["high"] - found["mean"]]]
                    axes.errorbar(place, found["mean"], yerr=ends, color=orange, capsize=4, linewidth=1.2)
        bounds = (str(row["from"]) if row["from"] == row["to"] else f"{row['from']}–{row['to']}" for row in rows)
        labels = [f"{bound}\n({row['examples']:,})" for bound, row in zip(bounds, rows, strict=True)]
        axes.set_xticks(range(len(rows)), labels)
        axes.set_xlabel(f"{what} (number of examples)")

    return _drawn(4.8, 3.0, draw, f"{name} by {what}, mean and 95 % interval")


def _residuals(rows: Sequence[Mapping[str, float]]) -> bytes:
    true, predicted = (np.array([row[name] for row in rows]) for name in ("true", "predicted"))

    def draw(axes: Axes) -> None:
        axes.axhline(0, color=orange, linewidth=1)
        axes.plot(true, predicted - true, "o", color=blue, alpha=0.35, markersize=3)
        axes.set(xlabel="target", ylabel="prediction − target")

    return _drawn(4.8, 3.4, draw, "Residuals")


def _missed(rows: Sequence[Mapping[str, Any]]) -> bytes:
    some = rows[:BARS]

    def draw(axes: Axes) -> None:
        _bars(axes, [row["word"] for row in some], [row["missed"] for row in some], [row["of"] for row in some])
        axes.set_xlabel("times missed (light: times in the targets)")

    return _drawn(4.8, 1.1 + 0.26 * len(some), draw, "Target words that are missed most often")
