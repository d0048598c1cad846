"""The tables of docs/reading.md, pretraining.md, pretrained.md and looking.md, from what their benchmarks kept."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

Results = Mapping[str, Mapping[str, Any]]
NOTHING = "Not measured yet."

SQUAD = {
    "dcn": "dynamic coattention",
    "dcn_overlap": "… told which words are in both texts",
    "dcn_deep": "… and two layers in both directions",
    "no_coattention": "dynamic coattention without coattention",
    "no_iteration": "… without iteration (one turn)",
    "no_sentinel": "… without sentinels",
    "bilstm": "Bi-LSTM with attention and a pointer",
    "transformer": "Transformer with a span head",
}


def _figures(results: Results, name: str) -> Mapping[str, Any]:
    return results.get(name, {}).get("figures") or {}


def _several(values: Sequence[float]) -> str:
    """A mean, and the range where there are several."""
    if len(values) == 1:
        return f"{values[0]:.1%}"
    return f"{mean(values):.1%} ({min(values):.1%} to {max(values):.1%})"


def answer_babi(results: Results) -> str:
    """A row for each task, with the mean over seeds."""
    names = {"cloze_accuracy": "accuracy", "mrr": "MRR"}
    names |= {"evidence_answer": "weight on the supporting sentences", "evidence_chance": "even weights"}
    lines = [f"| task | seeds | {' | '.join(names.values())} |", "|---" * (len(names) + 2) + "|"]
    for task, row in _figures(results, "answer_babi").items():
        cells = [f"{mean(row[name]):.1%}" for name in names]
        lines.append(f"| {task} | {len(row['mrr'])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def answer_stories(results: Results) -> str:
    """The one command with nothing given."""
    one = _figures(results, "answer_stories")
    if not one:
        return NOTHING
    rows = {
        "exact match (goal 95 %)": f"{one['squad_exact_match']:.1%}",
        "F1": f"{one['squad_f1']:.1%}",
        "the whole command (goal 180 s)": f"{one['whole_seconds']:.0f} s",
        "the pointer's weight on the sentence that holds the answer": f"{one['evidence_answer']:.1%}",
        "the question's attention on that sentence": f"{one['evidence_attention']:.1%}",
        "what even weights would have there": f"{one['evidence_chance']:.1%}",
        "questions answered a second": f"{one['answered_per_second']:.0f}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def answer_cloze(results: Results) -> str:
    figures = _figures(results, "answer_cloze")
    if not figures:
        return NOTHING
    lines = ["| reader | seeds | accuracy | MRR |", "|---|---|---|---|"]
    for name in ("attention_over_attention", "attention_sum"):
        row = figures[name]
        lines.append(f"| `{name}` | {len(row['mrr'])} | {_several(row['cloze_accuracy'])} | {_several(row['mrr'])} |")
    return "\n".join(lines)


def answer_squad(results: Results) -> str:
    figures = _figures(results, "answer_squad")
    if not figures:
        return NOTHING
    lines = ["| model | F1 | exact match | epochs | training |", "|---|---|---|---|---|"]
    for name, what in SQUAD.items():
        if "squad_f1" in (one := figures.get(name, {})):
            scores = f"{one['squad_f1']:.1%} | {one['squad_exact_match']:.1%}"
            lines.append(f"| {what} (`{name}`) | {scores} | {one['epochs']:.1f} | {one['seconds']:.0f} s |")
        elif "failed" in one:
            lines.append(f"| {what} (`{name}`) | no result | | | |")
    return "\n".join([*lines, "| published, dynamic coattention | 75.6% | 65.4% | | |"])


def answer_speed(results: Results) -> str:
    """Questions a second, and memory by length, on each device that was measured."""
    rows = [(name, _figures(results, name)) for name in ("answer_speed", "answer_speed_cpu") if name in results]
    if not rows:
        return NOTHING
    lengths = [*rows[0][1]["peak_mib_by_length"]]
    head = " | ".join(f"{length} tokens" for length in lengths)
    lines = [f"| device | questions a second | {head} |", "|---" * (2 + len(lengths)) + "|"]
    for name, one in rows:
        hardware = results[name]["hardware"]
        device = hardware["gpu"] if one["device"] == "cuda" else f"{hardware['cores']} CPU cores"
        cells = [f"{value:,.0f} MiB" for value in one["peak_mib_by_length"].values()]
        lines.append(f"| {device} | {one['questions_per_second']:,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def pretrain_lift(results: Results) -> str:
    figures = _figures(results, "pretrain_lift")
    if not figures:
        return NOTHING
    names = {"started": "started from the pre-trained run", "scratch": "the same from scratch"}
    names |= {"defaults": "regard's defaults, from scratch"}
    lines = ["| SNLI, 10,000 pairs | seeds | test accuracy |", "|---|---|---|"]
    for name, what in names.items():
        if name not in figures:
            continue
        lines.append(f"| {what} | {len(figures[name]['test'])} | {_several(figures[name]['test'])} |")
    return "\n".join(lines)


def pretrain_speed(results: Results) -> str:
    figures = _figures(results, "pretrain_speed")
    if not figures:
        return NOTHING
    names = {"ours": "regard", "theirs": "Trainer"}
    lines = ["| | tokens a second, each round |", "|---|---|"]
    for name, what in names.items():
        lines.append(f"| {what} | {', '.join(f'{one:,}' for one in figures['tokens_per_second'][name])} |")
    return "\n".join(lines)


def pretrained(results: Results) -> str:
    """A row for each task: regard's seeds, the goal, and the plain loop."""
    figures = _figures(results, "pretrained")
    if not figures:
        return NOTHING
    lines = ["| task | measure | seeds | regard | goal | plain loop |", "|---|---|---|---|---|---|"]
    for task, one in figures["tasks"].items():
        scores = [row["score"] for row in one["ours"] if "score" in row]
        plain = [row["score"] for row in one["plain"] if "score" in row]
        cells = [_several(scores) if scores else "–", f"{one['goal']:.1%}", _several(plain) if plain else "–"]
        lines.append(f"| {task} | {one['measure']} | {len(scores)} | {' | '.join(cells)} |")
        if "exact_match" in one:
            exact = _several([row["exact_match"] for row in one["ours"] if "exact_match" in row])
            lines.append(f"| {task} | exact match | {len(scores)} | {exact} | {one['exact_match_goal']:.1%} | – |")
    speed = {kind: figures["speed"].get(kind, {}).get("examples_s") for kind in ("ours", "plain", "trainer")}
    if speed["ours"] and speed["trainer"]:
        said = f"regard {speed['ours']:,}, plain loop {speed['plain']:,}, Trainer {speed['trainer']:,}"
        lines += ["", f"Training examples a second on {figures['speed']['task']}, each alone: {said}."]
    return "\n".join(lines)


def model_pages(results: Results) -> str:
    """Pages of all heads of a model: their size, and how fast they open and answer."""
    lines = ["| layers × heads × tokens | page | opens in | enlarges a head in | hover |", "|---|---|---|---|---|"]
    for name in ("page_model", "page_model_large"):
        if one := _figures(results, name):
            size = f"{one['layers']} × {one['heads']} × {one['tokens']} | {one['megabytes']:.1f} MB"
            times = [f"{one[key]:.0f} ms" for key in ("open_ms", "enlarge_ms", "hover_to_frame_ms")]
            lines.append(f"| {size} | {' | '.join(times)} |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def bertviz(results: Results) -> str:
    one = _figures(results, "bertviz")
    if not one:
        return NOTHING
    names = {"regard": "regard", "model_view": "BertViz, `model_view`", "head_view": "BertViz, `head_view`"}
    lines = ["| page | size | fetches when it is opened |", "|---|---|---|"]
    for name, what in names.items():
        fetched = ", ".join(address.split("/")[-1] for address in one[name]["fetches"])
        lines.append(f"| {what} | {one[name]['megabytes']:.1f} MB | {fetched or 'nothing'} |")
    return "\n".join(lines)


tables = {
    one.__name__: one
    for one in (
        *(answer_babi, answer_stories, answer_cloze, answer_squad, answer_speed),
        *(pretrain_lift, pretrain_speed, pretrained, model_pages, bertviz),
    )
}
