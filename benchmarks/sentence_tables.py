"""The tables of docs/sentences.md, made from what `sentences.py` kept."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

Results = Mapping[str, Mapping[str, Any]]
Row = Mapping[str, Any]


def _rows(results: Results, kind: str) -> list[Row]:
    return list(results.get(f"sentences_{kind}", {}).get("figures", {}).get("rows", ()))


def _spread(values: Sequence[float], times: float = 100.0, digits: int = 1) -> str:
    """Mean ± standard deviation."""
    mean = f"{times * statistics.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {times * statistics.stdev(values):.{digits}f}"


def _lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body])


def _millions(count: float | None) -> str:
    return "" if count is None else f"{count / 1e6:.1f}m"


def snli(results: Results) -> str:
    """Scores beside the published ones, and beside those of pairs matched as in the paper; costs were taken apart.
    A row that was trained anew by itself has a mark, and its record's note stands below."""
    anew = results.get("sentences_snli_resan", {}).get("figures", {})
    own = {row["name"] for row in anew.get("rows", ())}
    rows = [row for row in _rows(results, "snli") if row["name"] not in own] + list(anew.get("rows", ()))
    as_published = {row["name"]: _spread(row["test"]) for row in _rows(results, "snli_difference")}
    costs = {row["name"]: row for row in _rows(results, "snli_costs")}
    head = ["encoder", "parameters", "published", "s/epoch", "× multi-head", "test s", "peak MiB", "train", "test",
            "test, `match=difference`", "published", "recipe (chosen on dev)"]  # fmt: skip
    body = [
        [row["name"] + (" ¹" if row["name"] in own else ""), _millions(row["parameters"]),
         _millions(row["published_parameters"]) or "–",
         *(_figure(costs.get(row["name"], {}).get(key), form) for key, form in COSTS),
         _spread(row["train"]) if row.get("train") else "–", f"**{_spread(row['test'])}**",
         as_published.get(row["name"], "–"), "–" if row["published"] is None else f"{100 * row['published']:.1f}",
         row["recipe"]]
        for row in sorted(rows, key=lambda row: statistics.mean(row["test"]), reverse=True)
    ]  # fmt: skip
    return _lines(head, body) + (f"\n\n¹ {anew['note']}" if own else "")


COSTS = (("epoch_seconds", ".1f"), ("epoch_ratio", ".2f"), ("test_seconds", ".2f"), ("memory_mib", ",.0f"))


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def disan(results: Results) -> str:
    """A step's memory and time, fused and written out."""
    figures = results.get("disan_memory", {}).get("figures", {})
    body = [[name, f"{figures[name]['mib']:,.0f} MiB", f"{figures[name]['ms']:.1f} ms"]
            for name in ("fused", "written out") if name in figures]  # fmt: skip
    return _lines(["attention of DiSAN", "peak beyond what stays", "a step"], body)


def sick(results: Results) -> str:
    """Pearson, Spearman and mean squared error."""
    body = []
    for row in _rows(results, "sick"):
        figures = [_spread([float(one[key]) for one in row["measures"]], 1.0, 4) for key in MEASURES]
        body.append([row["name"], *figures, row["recipe"], PUBLISHED_SICK.get(row["name"], "–")])
    return _lines(["encoder", "r", "ρ", "MSE", "recipe (chosen on the trial set)", "published r / ρ / MSE"], body)


MEASURES = ("pearson", "spearman", "mse")
# Shen et al., IJCAI 2018, table 2.
PUBLISHED_SICK = {
    "bigru": ".8572 / .8026 / .3079", "multi_window": ".8374 / .7793 / .3395", "hierarchical": ".8436 / .7874 / .3162",
    "disan": ".8695 / .8139 / .2879", "resan": ".8720 / .8163 / .2623",
}  # fmt: skip


def accuracy(results: Results, kind: str) -> str:
    body = [[row["name"], _millions(row["parameters"]), f"**{_spread(row['test'])}**", row["recipe"]]
            for row in _rows(results, kind)]  # fmt: skip
    return _lines(["encoder", "parameters", "test", "recipe (chosen on the validation set)"], body)


def price_of(row: Row) -> tuple[str, float]:
    """What an unchosen head takes, and the price: `price 0.05`, `price 0.05, unchosen none`."""
    first, _, unchosen = row["name"].partition(", unchosen ")
    return unchosen or "mean", float(first.split()[-1])


def price(results: Results) -> str:
    body = [
        [*(str(one) for one in price_of(row)), ", ".join(f"{100 * one:.0f} %" for one in row["chosen"]),
         ", ".join(f"{100 * one:.1f}" for one in row["test"])]
        for row in sorted(_rows(results, "price"), key=price_of)
    ]  # fmt: skip
    return _lines(["unchosen", "price λ", "tokens chosen, a figure for each seed", "test"], body)


sentences: dict[str, Callable[[Results], str]] = {
    "snli": snli,
    "sick": sick,
    "sst": partial(accuracy, kind="sst"),
    "trec": partial(accuracy, kind="trec"),
    "price": price,
    "disan": disan,
}
