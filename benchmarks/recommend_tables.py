"""The tables of docs/recommending.md."""

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["tables"]

Results = Mapping[str, Mapping[str, Any]]
NAMES = {"popularity": "popularity", "item_knn": "item-kNN", "nais": "NAIS", "sasrec": "SASRec"}
MEASURES = ("sampled_hit_rate", "sampled_ndcg", "hit_rate", "ndcg", "mrr")


def scores(results: Results) -> str:
    """A row for each model: the mean over its seeds, with half the range."""
    cases: dict[str, Mapping[str, Any]] = {}
    epochs: dict[str, int] = {}
    for name, result in results.items():
        if name.startswith("recommend") and "cases" in (figures := result["figures"]):
            for kind, seeds in figures["cases"].items():
                if seeds:
                    cases[kind], epochs[kind] = seeds, figures["epochs"]
    lines = [
        "| model | HR@10, 99 sampled | NDCG@10, 99 sampled | HR@10, all items | NDCG@10, all items | MRR | seeds |"
        " epochs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, name in NAMES.items():
        seeds = list(cases.get(kind, {}).values())
        cells = [_mean([one[measure] for one in seeds]) for measure in MEASURES]
        learned = "cpu_seconds" in seeds[0] if seeds else False
        trained = (str(len(seeds)), str(epochs[kind])) if learned else ("–", "–")
        lines.append(f"| {' | '.join([name, *cells, *trained])} |")
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {(max(values) - min(values)) / 2:.3f}" if len(values) > 1 else ""
    return f"{sum(values) / len(values):.3f}{spread}"


def speed(results: Results) -> str:
    figures = results.get("recommend_speed", {}).get("figures", {})
    lines = ["| what | regard | plain PyTorch | ratio |", "|---|---|---|---|"]
    rows = {
        "trained_items_per_second": "training, items a second",
        "ranked_users_per_second": "ranking, users a second",
    }
    for name, what in rows.items():
        one = figures.get(name, {})
        cells = [f"{one[key]:,}" if key in one else "–" for key in ("ours", "plain")]
        ratio = f"{one['ratio']:.2f}×" if one else "–"
        lines.append(f"| {what} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines)


def memory(results: Results) -> str:
    figures = results.get("recommend_memory", {}).get("figures", {})
    lines = [
        "| model | item vectors | items scored | processor time | memory before | peak | all scores at once |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in ("sasrec", "nais"):
        one = figures.get(kind)
        cells = (
            [
                *(str(one["size"]), f"{one['items_scored']:,}", f"{one['cpu_seconds']:.0f} s"),
                *(f"{one[key]:,} MiB" for key in ("before_mib", "peak_mib", "all_scores_mib")),
            ]
            if one
            else ["–"] * 6
        )
        lines.append(f"| {NAMES[kind]} | {' | '.join(cells)} |")
    return "\n".join(lines)


tables: dict[str, Callable[[Results], str]] = {
    "recommend": scores,
    "recommend_speed": speed,
    "recommend_memory": memory,
}
