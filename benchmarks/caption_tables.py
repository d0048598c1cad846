"""The tables of docs/captions.md and docs/glimpses.md, made from what `caption.py` and `glimpse.py` kept."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Results = Mapping[str, Mapping[str, Any]]

NAMES = {
    "soft": "soft attention",
    "hard": "hard attention",
    "show_and_tell": "Show and Tell",
    "transformer": "Transformer decoder",
}
# Xu et al. 2015, table 1, Flickr8k: BLEU-1, BLEU-4 and METEOR.
PUBLISHED = {"soft": "67.0 / 19.5 / 18.9", "hard": "67.0 / 21.3 / 20.3"}
NOTHING = "*Not measured yet.*"


def captions(results: Results) -> str:
    """A row a model: measures of the test set, means over the seeds."""
    names = {"bleu1": "BLEU-1", "bleu4": "BLEU-4", "meteor": "METEOR", "rougeL": "ROUGE-L", "cider_d": "CIDEr-D"}
    coco = {kind: model for kind, _, model in _models(results, "caption_flickr8k_coco")}  # the same captions
    rows = [
        [
            label,
            *(_spread(model, name, "{:.1f}") for name in names),
            _spread(coco.get(kind, {"each": ()}), "meteor", "{:.1f}"),
            PUBLISHED.get(kind, "–"),
            _seconds(model),
        ]
        for kind, label, model in _models(results, "caption_flickr8k")
    ]
    if human := results.get("caption_flickr8k_coco", {}).get("figures", {}).get("human"):
        shown = ["–" if name == "meteor" else f"{human[name]:.1f}" for name in names]
        rows.append(["a person, beside four others", *shown, f"{human['meteor']:.1f}", "–", "–"])
    return _table(["model", *names.values(), "METEOR 1.5", "published: BLEU-1 / BLEU-4 / METEOR", "training"], rows)


def scenes(results: Results) -> str:
    """Where soft and hard attention point, and how many of their captions are true."""
    names = {
        "exact_match": "true captions",
        "pointing": "pointing",
        "attention_iou": "intersection over union",
        "attention_mass": "weight on the object",
        "pointing_chance": "pointing by chance",
    }
    rows = [
        [label, *(_spread(model, name, "{:.1%}") for name in names), _seconds(model)]
        for _, label, model in _models(results, "caption_scenes")
    ]
    return _table(["model", *names.values(), "training"], rows)


def speed(results: Results) -> str:
    figures = results.get("caption_speed", {}).get("figures", {})
    if not figures:
        return NOTHING
    plain, ours = (f"{figures['images_per_second'][name]:,.0f}" for name in ("plain", "regard"))
    return _table(
        ["plain PyTorch loop, images/s", "regard, images/s", "ratio"], [[plain, ours, f"{figures['times']}×"]]
    )


def glimpses(kind: str, results: Results) -> str:
    """Error in percent for each number of glimpses, the mean of the seeds and each of them."""
    rows = []
    for number, row in results.get(f"glimpse_{kind}", {}).get("figures", {}).items():
        if errors := [one for one in row.get("error", ()) if one is not None]:
            each = ", ".join(f"{one:.2f}" for one in errors)
            published = "–" if row["published"] is None else f"{row['published']:.2f} %"
            rows.append([number, f"**{sum(errors) / len(errors):.2f} %**", each, published])
    return _table(["glimpses", "error", "each seed", "published"], rows)


def _models(results: Results, record: str) -> list[tuple[str, str, Mapping[str, Any]]]:
    figures = results.get(record, {}).get("figures", {})
    return [(kind, label, figures[kind]) for kind, label in NAMES.items() if kind in figures]


def _spread(model: Mapping[str, Any], name: str, form: str) -> str:
    """The mean of the seeds and how far they lie apart."""
    values = [run[name] for run in model["each"] if name in run]
    if not values:
        return "–"
    mean = form.format(sum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ({form.format(min(values))}–{form.format(max(values))})"


def _seconds(model: Mapping[str, Any]) -> str:
    return f"{model['seconds']:,.0f} s" if "seconds" in model else "–"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return NOTHING
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


tables: dict[str, Callable[[Results], str]] = {
    "captions": captions,
    "scenes": scenes,
    "caption_speed": speed,
    **{f"glimpses_{kind}": partial(glimpses, kind) for kind in ("mnist", "translated", "cluttered")},
}
