"""The learning curve, curve.png: loss and metric over steps, from log.jsonl."""

import io
import math
from pathlib import Path

from regard.files import write_whole
from regard.train.log import read

__all__ = ["draw"]


def draw(folder: Path) -> Path | None:
    """Draws curve.png from the validations in the log, if there are any."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    events = [event for event in read(folder / "log.jsonl") if "valid" in event and "loss" in event]
    if not events:
        return None
    steps = [event["step"] for event in events]
    names = [name for name, value in events[-1]["valid"].items() if isinstance(value, float)]
    panels = ["loss", *names]
    across = min(4, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(3.2 * across, 2.6 * down), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    for number, name in enumerate(panels):
        axes = figure.add_subplot(down, across, number + 1)
        values = [event["loss"] if name == "loss" else event["valid"].get(name) for event in events]
        values = [value if isinstance(value, float) else math.nan for value in values]
        axes.plot(steps, values, marker="o", markersize=3, linewidth=1.5, color="#1f5f99")
        axes.set_title("training loss" if name == "loss" else f"validation {name}", fontsize=9, parse_math=False)
        axes.set_xlabel("step", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return write_whole(folder / "curve.png", picture.getvalue())
