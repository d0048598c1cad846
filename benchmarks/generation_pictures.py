"""BLEU against the length of the source, with and without attention, from what `generation.py table` kept.

    python benchmarks/generation_pictures.py                # results/generation.json → docs/generation_length.png

A point is all test sentences of a bin of lengths together; below, how many there are. Without attention the whole
source must pass through one vector (Cho et al. 2014; Bahdanau, Cho & Bengio 2014, figure 2).
"""

import io
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.files import write_whole

root = Path(__file__).resolve().parent.parent
LINES = {
    "no_attention_start": ("no attention: starts the decoder", "#b2182b", "--"),
    "no_attention_transform": ("no attention: through a map", "#d6604d", "--"),
    "no_attention_every": ("no attention: every step", "#e08214", "--"),
    "no_attention_first": ("no attention: first step", "#f4a582", "--"),
    "additive": ("additive attention", "#2166ac", "-"),
    "lstmn_deep": ("LSTMN, deep fusion", "#35978f", "-"),
    "transformer": ("Transformer", "#7b3294", "-"),
}


def points(row: Mapping[str, Any]) -> list[tuple[float, float, int]]:
    """Mean length, BLEU (mean over seeds) and number of sentences of every bin."""
    bins: dict[int, list[Mapping[str, float]]] = {}
    for one in row.get("by_length", ()):
        for some in one or ():
            bins.setdefault(int(some["low"]), []).append(some)
    return [
        (some[0]["mean"], statistics.mean(one["bleu"] for one in some), int(some[0]["sentences"]))
        for _, some in sorted(bins.items())
    ]


def draw(record: Mapping[str, Any], path: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {row["name"]: points(row) for row in record["figures"]["rows"] if row["name"] in LINES}
    figure = Figure(figsize=(9, 5.4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes, counts = figure.subplots(2, 1, sharex=True, height_ratios=(6, 1))
    ends: list[tuple[float, str, str]] = []
    for name, (label, colour, style) in LINES.items():
        if rows.get(name):
            lengths, bleu, _ = zip(*rows[name], strict=True)
            axes.plot(lengths, bleu, style, color=colour, marker="o", markersize=5, linewidth=2)
            ends.append((bleu[-1], label, colour))
    shown = next((some for some in rows.values() if some), [])
    last = max((length for length, _, _ in shown), default=1.0)
    for y, place, label, colour in _apart(ends, axes.get_ylim()):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.8}
        axes.annotate(label, (last, y), xytext=(last * 1.04, place), color=colour, va="center", arrowprops=line)
    axes.set_xlim(right=last * 1.42)  # room for the names
    axes.set_ylabel("BLEU")
    axes.set_title("Multi30k de→en, test_2016_flickr: BLEU by length of the source", loc="left", fontsize=12)
    counts.bar([x for x, _, _ in shown], [n for _, _, n in shown], width=0.9, color="#9db8d2")
    for x, _, n in shown:
        counts.annotate(str(n), (x, n), ha="center", va="bottom", fontsize=8, color="#555555")
    counts.set_ylim(0, 1.5 * max((n for _, _, n in shown), default=1))
    counts.set(xlabel="words of the source (mean of the bin)", ylabel="sentences", yticks=[])
    for one in (axes, counts):
        one.grid(True, color="#dddddd", linewidth=0.7)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return write_whole(path, content.getvalue())


def _apart(ends: Sequence[tuple[float, str, str]], limits: tuple[float, float]) -> list[tuple[float, float, str, str]]:
    """Where each line ends and where its name stands: none nearer to the next than a line of text."""
    step, ordered = (limits[1] - limits[0]) * 0.055, sorted(ends)
    places = [y for y, _, _ in ordered]
    for _ in range(100):
        for i in range(len(places) - 1):
            push = max(step - (places[i + 1] - places[i]), 0.0) / 2
            places[i], places[i + 1] = places[i] - push, places[i + 1] + push
    return [(y, place, label, colour) for (y, label, colour), place in zip(ordered, places, strict=True)]


def main(arguments: Sequence[str]) -> int:
    name = arguments[0] if arguments else "generation"
    file = root / "benchmarks" / "results" / f"{name}.json"
    if not file.is_file():
        raise SystemExit(f"no results named {name}; run python benchmarks/generation.py table DATA")
    target = Path(arguments[1]) if len(arguments) > 1 else root / "docs" / "generation_length.png"
    print(draw(json.loads(file.read_text(encoding="utf-8")), target))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
