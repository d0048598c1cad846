"""The report of `regard faithful`: table rows, Markdown and a plot.

lines(summary); markdown(report, "runs/classify"); picture(report)
"""

import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from regard.look.attention_map import visible
from regard.markdown import code, escaped

__all__ = ["draw", "lines", "markdown", "picture", "words"]

blue, orange, light = "#1f5f99", "#d55e00", "#9db8d2"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def lines(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The rows of the table: test, figure, note."""
    found = []
    for name, what in (("gradient", "gradients"), ("leave_one_out", "leaving one out")):
        tau = summary[f"tau_{name}"]
        more = f"± {_number(tau['std'])}, p < .05 in {_share(tau['share_significant'])}"
        more += f", undefined in {tau['undefined']:,}" if tau["undefined"] else ""
        found.append((f"Kendall τ with {what}", _number(tau["mean"]), more))
    shuffled, other = summary["shuffled"], summary["adversarial"]
    found.append(("TV of shuffled weights", _number(shuffled["median_tv"]), f"median, {shuffled['shuffles']} shuffles"))
    for one in shuffled["by_largest"]:
        if one["cases"]:
            last = "]" if one["to"] == 1 else ")"
            bounds = f"  largest weight in [{one['from']:g}, {one['to']:g}{last}"
            found.append((bounds, _number(one["median_tv"]), f"{one['cases']:,} of {summary['cases']:,}"))
    spread = f"median; quartiles {_number(other['lower_js'])} and {_number(other['upper_js'])}"
    found.append((f"JS of adversarial weights, ε = {other['epsilon']:g}", _number(other["median_js"]), spread))
    half = f"above half of that in {_share(other['share_above_half'])}"
    found.append(("  largest", _number(other["max_js"]), f"at most {math.log(2):.3f}; {half}"))
    for kind, one in summary.get("rationales", {}).items():
        what = {"chosen": "chosen tokens", "weights": "heaviest tokens", "random": "random tokens"}[kind]
        found.append((f"sufficiency of {what}", _number(one["sufficiency"]), f"{_share(one['share'])} of the tokens"))
        found.append(("  comprehensiveness", _number(one["comprehensiveness"]), "what the answer loses without them"))
    for policy, one in summary.get("chosen_words", {}).items():
        for kind, part in one["kinds"].items():
            if part["tokens"]:
                found.append((f"{policy}: {kind} words chosen", _share(part["share"]), f"of {part['tokens']:,}"))
    return found


def words(summary: Mapping[str, Any]) -> str:
    """Which words each policy chooses, as Markdown; nothing where none are chosen from."""
    parts = []
    for policy, one in summary.get("chosen_words", {}).items():
        places = " | ".join(_share(part["share"]) for part in one["places"])
        kinds = "\n".join(
            f"| {kind} | {_share(part['share'])} | {part['tokens']:,} |" for kind, part in one["kinds"].items()
        )
        ends = "\n\n".join(
            f"Chosen {end} often: " + ", ".join(f"{code(row['word'])} {_share(row['share'])}" for row in one[end])
            for end in ("most", "least")
        )
        parts.append(f"""## Chosen as {escaped(policy)}

| kind of word | chosen | of |
|---|---|---|
{kinds}

| first fifth of the input | second | third | fourth | last |
|---|---|---|---|---|
| {places} |

{ends}
""")
    return "\n".join(parts)


def markdown(report: Mapping[str, Any], name: str) -> str:
    """The report as Markdown."""
    summary = report["summary"]
    rows = "\n".join(f"| {what.strip()} | {figure} | {more} |" for what, figure, more in lines(summary))
    voted = ", ".join(f"{test} {'for' if vote > 0 else 'against' if vote else 'neither'}" for test, vote
                      in summary["votes"].items())  # fmt: skip
    return f"""# Is it an explanation? {escaped(visible(name))}

**{summary["level"]}.** {summary["verdict"]}

{summary["cases"]:,} answers to {summary["examples"]:,} examples of {code(report["task"])}, seed {report["seed"]}.

| test | figure | |
|---|---|---|
{rows}

What each test says of the weights: {voted}. Strong: importance and another test for them, none against; weak: two more
against than for; else mixed.

![Kendall τ, shuffled and adversarial weights](faithful.png)

The tests are those of Jain & Wallace 2019, "Attention is not Explanation", sufficiency and comprehensiveness those of
DeYoung et al. 2020, "ERASER"; docs/faithful.md of regard says how to read them and what they leave open.

{words(summary)}"""


def picture(report: Mapping[str, Any]) -> bytes:
    """Histograms of τ, boxes of shuffled weights by the largest weight, and adversarial weights against it."""
    made = io.BytesIO()
    draw(report).savefig(made, format="png", metadata={"Software": None})
    return made.getvalue()


def draw(report: Mapping[str, Any]) -> Figure:
    """The picture as a figure of its own (no pyplot)."""
    rows, summary = report["rows"], report["summary"]
    figure = Figure(figsize=(13, 4), layout=ConstrainedLayoutEngine(wspace=0.05), dpi=150)
    FigureCanvasAgg(figure)
    taus, boxes, scatter = figure.subplots(1, 3)
    _taus(taus, rows)
    _boxes(boxes, rows, summary["shuffled"]["by_largest"])
    _scatter(scatter, rows, summary["adversarial"]["epsilon"])
    for axes in (taus, boxes, scatter):
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _taus(axes: Axes, rows: Any) -> None:
    for name, label, colour in (
        ("tau_gradient", "gradients", blue),
        ("tau_leave_one_out", "leaving one out", orange),
    ):
        found = [row[name] for row in rows if row[name] is not None]
        axes.hist(found, bins=np.linspace(-1, 1, 41).tolist(), color=colour, alpha=0.5, label=label)
    axes.set(xlim=(-1.08, 1.08), xticks=(-1, -0.5, 0, 0.5, 1), xlabel="Kendall τ with the weights", ylabel="answers")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("Do the weights rank as importance does?", fontsize=10)
    axes.margins(y=0.2)  # room for the legend above the highest bar
    axes.legend(loc="upper center", ncols=2, fontsize=8, frameon=False)


def _boxes(axes: Axes, rows: Any, bins: Any) -> None:
    for place, one in enumerate(bins):
        last = one["to"] == 1
        inside = [
            row["shuffled_tv"] for row in rows if one["from"] <= row["largest"] and (row["largest"] < one["to"] or last)
        ]
        if inside:
            axes.boxplot([inside], positions=[place], widths=0.6, flierprops={"markersize": 2},
                         patch_artist=True, boxprops={"facecolor": light}, medianprops={"color": orange})  # fmt: skip
    labels = [f"{one['from']:g}–{one['to']:g}\n{one['cases']:,}" for one in bins]
    axes.set_xticks(range(len(bins)), labels, fontsize=8)
    axes.set(xlim=(-0.6, len(bins) - 0.4), ylim=(-0.02, 1.02), xlabel="largest weight, and number of answers")
    axes.set_ylabel("total variation (median of the shuffles)")
    axes.set_title("How far do shuffled weights move the answer?", fontsize=10)


def _scatter(axes: Axes, rows: Any, epsilon: float) -> None:
    largest, js = ([row[name] for row in rows] for name in ("largest", "adversarial_js"))
    axes.plot(largest, js, "o", color=blue, alpha=0.35 if len(rows) < 2_000 else 0.12, markersize=3)
    most = math.log(2)
    axes.axhline(most, color=orange, linewidth=1)
    axes.text(1.02, most + 0.012, "ln 2, the most there can be", color=orange, fontsize=8, ha="right", va="bottom")
    axes.set(xlim=(0, 1.02), ylim=(-0.02, 0.77), xlabel="largest weight", ylabel="Jensen–Shannon divergence")
    axes.set_title(f"How different may weights be, answer within {epsilon:g}?", fontsize=10)
