"""The share of tokens ReSAN chose against its accuracy, by the price of a token, from what `sentences.py price` kept.

    python benchmarks/sentence_pictures.py                  # results/sentences_price.json → docs/price.png

A point is one training. On the left what a price makes of the choice, on the right what the choice makes of accuracy.
"""

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sentence_tables import price_of

from regard.files import write_whole

root = Path(__file__).resolve().parent.parent
MARKERS = {"mean": ("o", ""), "none": ("^", ", unchosen: no state")}


def draw(record: Mapping[str, Any], path: Path) -> Path:
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = sorted(record["figures"]["rows"], key=price_of)
    prices = sorted({price_of(row)[1] for row in rows})
    figure = Figure(figsize=(9, 4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for row in rows:
        unchosen, price = price_of(row)
        place = prices.index(price)
        look = {"color": colormaps["viridis"](place / max(1, len(prices) - 1)), "markersize": 7}
        marker, said = MARKERS[unchosen]
        shares, scores = [100 * one for one in row["chosen"]], [100 * one for one in row["test"]]
        left.plot([place] * len(shares), shares, marker, **look)
        right.plot(shares, scores, marker, **look, label=f"λ = {price:g}{said}")
    left.set_xticks(range(len(prices)), [f"{one:g}" for one in prices])
    left.set_xlabel("price λ of a token")
    left.set_ylabel("tokens chosen, %")
    right.set_xlabel("tokens chosen, %")
    right.set_ylabel("test accuracy, %")
    right.legend(frameon=False, fontsize=8, loc="lower center")
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    scores = [100 * one for row in rows for one in row["test"]]
    right.set_ylim(min(scores) - 2, max(scores) + 0.5)  # the room below is the legend's
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return write_whole(path, made.getvalue())


def main() -> int:
    kept = root / "benchmarks" / "results" / "sentences_price.json"
    print(draw(json.loads(kept.read_text(encoding="utf-8")), root / "docs" / "price.png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
