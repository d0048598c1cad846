"""The tables of docs/generation.md, from what generation.py, alignment.py, language.py and translate.py kept.

Rows carry a list for each figure, one number a seed; tables show the mean and, of several, the standard deviation.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Results = Mapping[str, Mapping[str, Any]]
Row = Mapping[str, Any]

# What was to be reached: what it is, the goal, results file and figure, how it is written, and the comparison.
GOALS: tuple[tuple[str, str, str, str, Callable[[float], bool]], ...] = (
    ("Transformer, Multi30k de→en, BLEU", "≥ 40.5", "multi30k_transformer.bleu", "{:.1f}", lambda x: x >= 40.5),
    ("its training, seconds", "≤ 300", "multi30k_transformer.seconds", "{:.0f}", lambda x: x <= 300),
    (
        "1,000 sentences at beam 5 with it, seconds",
        "≤ 1.3",
        "multi30k_transformer_lists.seconds_1_best",
        "{:.2f}",
        lambda x: x <= 1.3,
    ),
    ("best recurrent model, BLEU", "≥ 38", "generation.best_recurrent", "{:.1f}", lambda x: x >= 38),
    (
        "5-best lists with alignments / without",
        "≤ 1.3",
        "generation_lists.ratio_5_best",
        "{:.2f}",
        lambda x: x <= 1.3,
    ),
    ("Penn Treebank, LSTM, test perplexity", "≤ 80", "language.best", "{:.1f}", lambda x: x <= 80),
)

NAMES = {
    "no_attention_start": "no attention: context starts the decoder",
    "no_attention_transform": "no attention: through a learned map",
    "no_attention_every": "no attention: at every step",
    "no_attention_first": "no attention: at the first step",
    "additive": "additive attention (the base of all below)",
    "dot": "dot",
    "bilinear": "bilinear",
    "scaled_dot": "scaled dot",
    "scaled_dot_8_heads": "scaled dot, 8 heads",
    "cosine": "cosine",
    "feature_wise": "feature-wise",
    "additive_entmax": "additive, entmax",
    "additive_hard": "additive, hard: one word drawn, taught by reinforcement",
    "bias_position": "with position",
    "bias_markov": "with Markov",
    "bias_fertility": "with local fertility",
    "bias_all_three": "with all three",
    "bias_distance": "with distance",
    "bias_window": "with a window",
    "global_fertility": "with global fertility",
    "attention_before": "attention before the step (Bahdanau)",
    "input_feeding": "input feeding (Luong)",
    "lstmn_shallow": "LSTMN, shallow fusion",
    "lstmn_deep": "LSTMN, deep fusion",
    "transformer": "Transformer",
    "teach_linear": "scheduled sampling, linear",
    "teach_exponential": "scheduled sampling, exponential",
    "teach_inverse": "scheduled sampling, inverse sigmoid",
    "teach_blank": "words of the decoder's input left blank",
    "teach_drop": "source words left out",
    "teach_swap": "source words moved",
    "teach_replace": "source words replaced",
    "no_smoothing": "no label smoothing",
    "plain": "additive",
    "position": "+ position",
    "markov": "+ Markov",
    "fertility": "+ local fertility",
    "all_three": "+ all three",
    "apart": "both directions, each by itself",
    "agreement": "both directions, made to agree",
    "apart_all_three": "both directions, each by itself, + all three",
    "agreement_all_three": "both directions, made to agree, + all three",
    "agreement_later_all_three": "both directions, made to agree from the middle on, + all three",
}


def known(row: Row, name: str) -> list[float]:
    """The figure of every seed that has it."""
    value = row.get(name)
    return [x for x in (value if isinstance(value, list) else [value]) if x is not None]


def mean(row: Row, name: str, form: str = "{:.3f}") -> str:
    """The mean over seeds, with the standard deviation of several; a dash where there is none."""
    values = known(row, name)
    if not values:
        return "–"
    told = form.format(statistics.mean(values))
    return told if len(values) < 2 else f"{told} ± {form.format(statistics.stdev(values))}"


def less(row: Row, base: Row, name: str) -> str:
    """How much lower than the base, with the standard error of the difference where there are several seeds."""
    ours, theirs = known(row, name), known(base, name)
    if not ours or not theirs or row is base:
        return ""
    told = f"{statistics.mean(ours) - statistics.mean(theirs):+.3f}"
    if len(ours) < 2 or len(theirs) < 2:
        return told
    return f"{told} ± {(statistics.variance(ours) / len(ours) + statistics.variance(theirs) / len(theirs)) ** 0.5:.3f}"


def lined(head: str, lines: Sequence[Sequence[str]]) -> str:
    titles = head.split("|")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *lines])


def _where(record: Mapping[str, Any], name: str) -> str:
    """Below a table: on what, how long, when."""
    figures, hardware = record["figures"], record["hardware"]
    told = [hardware["gpu"] or f"{hardware['cores']} cores, {hardware['cpu']}"]
    if figures.get("seeds"):
        told.append("1 seed" if figures["seeds"] == 1 else f"{figures['seeds']} seeds, mean ± standard deviation")
    if figures.get("time"):
        jobs = figures.get("jobs", 1)
        told.append(f"at most {figures['time']} each" + (f", {jobs} trainings side by side" if jobs > 1 else ""))
    told.append(record["date"])
    return f"\n\n{'; '.join(told)}; [record](../benchmarks/results/{name}.json)."


def _unless_missing(name: str, command: str, table: Callable[[Mapping[str, Any]], str]) -> Callable[[Results], str]:
    def made(results: Results) -> str:
        if name not in results:
            return f"Not measured yet: `{command}`."
        return table(results[name]["figures"]) + _where(results[name], name)

    return made


def _name(row: Row) -> str:
    return NAMES.get(row["name"]) or str(row["name"])


def _variants(figures: Mapping[str, Any]) -> str:
    head = "model|BLEU|perplexity|AER|links matched|weight on linked words|off by one|steps|parameters"
    order = list(NAMES)
    rows = sorted(figures["rows"], key=lambda row: order.index(row["name"]) if row["name"] in order else len(order))
    lines = [
        [
            _name(row), f"**{mean(row, 'bleu', '{:.1f}')}**", mean(row, "perplexity", "{:.2f}"), mean(row, "aer"),
            mean(row, "matched", "{:.1%}"), mean(row, "attention_mass", "{:.1%}"), mean(row, "off_by_one", "{:.1%}"),
            mean({"steps": statistics.mean(known(row, "steps"))} if known(row, "steps") else {}, "steps", "{:,.0f}"),
            f"{known(row, 'parameters')[0] / 1e6:.1f}m" if known(row, "parameters") else "–",
        ]
        for row in rows
    ]  # fmt: skip
    return lined(head, lines)


def _length(figures: Mapping[str, Any]) -> str:
    """The picture, and of some models in it the figures (first seed), by words of the source."""
    rows = {row["name"]: row["by_length"][0] for row in figures["rows"] if row.get("by_length")}
    shown = {name: rows[name] for name in ("no_attention_start", "no_attention_every", "additive", "transformer")
             if name in rows}  # fmt: skip
    bins = [(one["low"], one["high"], one["sentences"]) for one in next(iter(shown.values()), [])]
    head = "model|" + "|".join(f"{low}–{high}" if high < 999 else f"{low} or more" for low, high, _ in bins)
    lines = [["*sentences*", *(str(count) for *_, count in bins)]]
    lines += [[NAMES[name], *(f"{one['bleu']:.1f}" for one in some)] for name, some in shown.items()]
    return f"![BLEU by length of the source](generation_length.png)\n\n{lined(head, lines)}"


def _gold(figures: Mapping[str, Any]) -> str:
    rows = {row["name"]: row for row in figures["rows"]}
    base = rows.get("plain", {})
    lines = [
        [
            _name(row), f"**{mean(row, 'aer')}**", less(row, base, "aer"), mean(row, "precision"), mean(row, "recall"),
            mean(row, "attention_mass", "{:.1%}"), mean(row, "off_by_one", "{:.1%}"), mean(row, "perplexity", "{:.1f}"),
        ]
        for row in rows.values()
    ]  # fmt: skip
    for row in (row for row in rows.values() if known(row, "grow_aer")):
        joined = (mean(row, f"grow_{name}") for name in ("precision", "recall"))
        apart = rows.get("apart_all_three" if row["name"].endswith("_all_three") else "apart", row)
        told = f"{less(row, apart, 'grow_aer')} (to the joined of each by itself)" if row is not apart else ""
        lines.append([f"{_name(row)}; joined", f"**{mean(row, 'grow_aer')}**", told, *joined, "–", "–", "–"])
    if theirs := figures.get("statistical"):
        some = (f"{theirs[name]:.3f}" for name in ("precision", "recall"))
        name, beside = "eflomal, joined (its counts include these pairs)", f"{theirs['off_by_one']:.1%}"
        lines.append([name, f"**{theirs['aer']:.3f}**", "", *some, "–", beside, "–"])
    return lined("model|AER|to additive|precision|recall|weight on linked words|off by one|perplexity", lines)


def _dates(figures: Mapping[str, Any]) -> str:
    lines = [
        [
            _name(row), mean(row, "exact_match", "{:.2%}"), f"**{mean(row, 'alignment', '{:.2%}')}**",
            mean(row, "alignment_mass", "{:.1%}"),
        ]
        for row in figures["rows"]
    ]  # fmt: skip
    return lined("model|right dates|looks at the right characters|weight on them", lines)


def _language(figures: Mapping[str, Any]) -> str:
    lines = []
    for row in sorted(figures["rows"], key=lambda row: row.get("test", float("inf"))):
        made = row["recipe"]
        net, rows = made["network"], made["train"].get("batch_size") or made["train"]["rows"]
        drops = " / ".join(f"{net[key]:g}" for key in net if key.startswith("drop"))
        lines.append(
            [
                row["name"].replace("_", " "), str(net["hidden"]), f"{rows} × {made['window']} + {made['context']}",
                drops, mean(row, "epochs", "{:.0f}"), mean(row, "seconds", "{:.0f}"), mean(row, "valid", "{:.1f}"),
                f"**{mean(row, 'test', '{:.1f}')}**",
            ]
        )  # fmt: skip
    return lined("recipe|hidden|rows × window + context|dropout|epochs|seconds|valid|test", lines)


def _goals(results: Results) -> str:
    lines = []
    for what, goal, place, form, reached in GOALS:
        name, _, path = place.partition(".")
        if path == "best_recurrent":
            name, value = _best_recurrent(results)
        else:
            value = results.get(name, {}).get("figures", {}).get(path)
        told = "–" if value is None else f"**{form.format(value)}** {'✓' if reached(value) else '✗'}"
        record = f"[{name}](../benchmarks/results/{name}.json)" if name in results else f"{name}: not measured yet"
        lines.append([what, goal, told, record])
    return lined("what|to reach|measured|record", lines)


def _best_recurrent(results: Results) -> tuple[str, float | None]:
    """The test BLEU of the recurrent model that is best on the validation set, and the record that has it."""
    table = results.get("generation", {}).get("figures", {}).get("rows", ())
    rows = [("generation", row) for row in table if row["name"] != "transformer" and known(row, "valid_bleu")]
    if "multi30k_gru" in results:  # the base of the table, to its end and with the machine to itself
        rows.append(("multi30k_gru", results["multi30k_gru"]["figures"]))
    if not rows:
        return "generation", None
    name, best = max(rows, key=lambda one: statistics.mean(known(one[1], "valid_bleu")))
    return name, statistics.mean(known(best, "bleu"))


generation: dict[str, Callable[[Results], str]] = {
    "generation_goals": _goals,
    **{
        what: _unless_missing(name, f"python benchmarks/{command}", table)
        for what, name, command, table in (
            ("generation_variants", "generation", "generation.py table DATA --links FILE", _variants),
            ("generation_length", "generation", "generation.py table DATA", _length),
            ("alignment_gold", "alignment_gold", "alignment.py gold DATA --links FILE", _gold),
            ("alignment_dates", "alignment_dates", "alignment.py dates -", _dates),
            ("language", "language", "language.py train DATA", _language),
        )
    },
}
