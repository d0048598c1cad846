"""The tables of docs/replies.md."""

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["tables"]

Results = Mapping[str, Mapping[str, Any]]
SETS = {"reply_builtin": "made conversations", "reply_dailydialog": "DailyDialog", "reply_chitchat": "chitchat"}
MODELS = {
    "model": "regard",
    "matched": "matching and frequency",
    "written": "decoder and frequency",
    "tfidf": "nearest message by tf-idf",
    "frequency": "most frequent replies",
    "best": "the best possible",
}
SHARES = {
    "coverage": "coverage: true replies among the allowed",
    "trigger_precision": "trigger, precision",
    "trigger_recall": "trigger, recall",
    "distinct_intents": "different intents among the three",
    "click_share": "clicks: the true reply among the three",
    "click_share_intent": "clicks: a reply of its intent among the three",
    "sensitive_answered": "sensitive messages with a suggestion",
}


def ranks(results: Results) -> str:
    """MRR and recall@3 of each set, of the model and the baselines."""
    lines = [
        "| data | allowed replies | messages ranked | ranked by | MRR | recall@3 |",
        "|---|---|---|---|---|---|",
    ]
    for name, title in SETS.items():
        figures = results.get(name, {}).get("figures", {})
        for kind, shown in MODELS.items():
            one = figures.get(kind, {})
            if not one and kind == "best":  # known of made conversations only
                continue
            cells = [f"{one[key]:.3f}" if key in one else "–" for key in ("mrr", "recall_at_3")]
            counts = [f"{figures[key]:,}" if key in figures else "–" for key in ("allowed", "known")]
            lines.append(f"| {title} | {' | '.join([*counts, shown, *cells])} |")
    return "\n".join(lines)


def shown(results: Results) -> str:
    """What is suggested, over all test messages."""
    every = [results.get(name, {}).get("figures", {}) for name in SETS]
    lines = ["| | " + " | ".join(SETS.values()) + " |", "|---|" + "---|" * len(SETS)]
    rows = {
        "test messages": [f"{one['test']:,}" if one else "–" for one in every],
        "training: messages": [f"{one['train']:,}" if one else "–" for one in every],
        "training: steps": [f"{one['steps']:,}" if one else "–" for one in every],
        "training: seconds, with the test": [f"{one['seconds']:,}" if one else "–" for one in every],
    }
    for key, title in SHARES.items():
        form = "{:.2f}" if key == "distinct_intents" else "{:.1%}"
        rows[title] = [form.format(one["model"][key]) if one and key in one["model"] else "–" for one in every]
    rows["messages silenced by the list of terms"] = [f"{one['rule_silent']:.1%}" if one else "–" for one in every]
    return "\n".join([*lines, *(f"| {title} | {' | '.join(cells)} |" for title, cells in rows.items())])


def hostile(results: Results) -> str:
    """By the whole model where that was measured, else by the list of terms alone."""
    figures = (results.get("reply_hostile") or results.get("reply_terms") or {}).get("figures", {})
    lines = [
        "| messages | number | not caught by the list of terms | got a suggestion |",
        "|---|---|---|---|",
    ]
    titles = {"first": "known when the list was finished", "fresh": "written afterwards, to keep clear of its terms"}
    for part, title in titles.items():
        one = figures.get(part, {})
        shares = [f"{one[key]:.1%}" if key in one else "–" for key in ("passed_by_list", "suggested")]
        lines.append(f"| {title} | {one.get('messages', '–')} | {' | '.join(shares)} |")
    share = f"{figures['suggested']:.1%}" if "suggested" in figures else "–"
    return "\n".join([*lines, f"| all | {figures.get('messages', '–')} | | {share} |"])


def mails(results: Results) -> str:
    figures = results.get("reply_mails", {}).get("figures", {})
    lines = ["| | share of mails |", "|---|---|"]
    for name, share in figures.get("changed", {}).items():
        lines.append(f"| cleaning changes something: {name} | {share:.1%} |")
    for reason, share in sorted(figures.get("silent", {}).items(), key=lambda one: -one[1]):
        lines.append(f"| silent: {reason} | {share:.1%} |")
    if figures:
        lines.append(f"| something is suggested | {figures['suggested']:.1%} |")
    return "\n".join(lines)


def speed(results: Results) -> str:
    one = results.get("reply_speed", {}).get("figures")
    lines = ["| what | to reach | measured |", "|---|---|---|"]
    if not one:
        return "\n".join([*lines, "| all allowed replies through the tree | ≤ 50 ms | – |"])
    what = f"{one['replies']:,} replies, {one['nodes']:,} nodes, through the tree"
    return "\n".join(
        [
            *lines,
            f"| {what}, median of 30 | ≤ 50 ms | **{one['median_ms']:.1f} ms** |",
            f"| the same, best of 30 | | {one['best_ms']:.1f} ms |",
            f"| the same, processor time of {one['threads']} threads, least of 30 | | {one['processor_ms']:.1f} ms |",
            f"| in batches of 500 replies, without a tree (from some batches) | | {one['in_batches_ms']:,} ms |",
            f"| one by one (from a sample) | | {one['one_by_one_ms']:,} ms |",
            f"| once for a run: tree and states | | {one['make_tree_ms'] + one['read_tree_ms']:,} ms |",
            f"| largest difference to one by one, nats | ≤ 0.00001 | {one['largest_difference']:.1g} |",
        ]
    )


tables: dict[str, Callable[[Results], str]] = {
    "reply_ranks": ranks,
    "reply_shown": shown,
    "reply_hostile": hostile,
    "reply_mails": mails,
    "reply_speed": speed,
}
