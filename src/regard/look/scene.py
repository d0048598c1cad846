"""A scene: everything that the page draws, as plain JSON. A file embeds it, a service sends it.

    {"version": 1, "title": …, "live": null,
     "runs": [{name, task, does, about, roles, searches, layers, features, badge}, …],
     "items": [{run, inputs, answer, log_prob, log_prob_per_token, others, drop_tokens, steps, maps}, …]}

    found = model.predict([("guten Tag",)])
    run = describe_run(model, "translate", roles=model.roles, features=False)
    page(scene([item(0, ("guten Tag",), found[0])], [run]))

Regions are shown through `visible`; where that differs from what they are, `raw` keeps them exactly.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from regard.errors import RegardError
from regard.files import read_whole
from regard.look.attention_map import AttentionMap, visible
from regard.look.picture import to_url
from regard.look.sound import spectrogram
from regard.regions import Region, Token, to_dict
from regard.types import Prediction, Step

__all__ = ["describe_run", "item", "of_maps", "scene", "short", "table"]

longest = 200  # characters of a region as it is shown; the style shows fewer where room is short
most_tried = 10  # inputs to try
digits = 4  # of the largest weight; the eye sees two
marks = re.compile(r"</?[a-z]{1,4}>|<\|[a-z_]+\|>|\[[A-Z]{3,4}\]")  # </s>, <pad>, <|end|>, [CLS]


def scene(
    items: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]], title: str = "", live: str | None = None
) -> dict[str, Any]:
    """Items and the runs they came from; `live` is where a service answers, from the page's own address on."""
    return {
        "version": 1,
        "title": short(visible(title)) if title else "",
        "live": None if live is None else {"base": live},
        "runs": list(runs),
        "items": list(items),
    }


def describe_run(model: Any, name: str, roles: Sequence[Mapping[str, str]], features: bool) -> dict[str, Any]:
    """What the page says of a run. `roles` are its inputs, each with its name, its kind and what one is called in a
    sentence; `features` is whether single features can be shown. The badge is what `regard faithful` found, if it ran;
    `about` is what training kept for people to begin with: the data, how many examples, inputs to try.
    """
    return {
        "name": name,
        "task": str(model.config["task"]),
        "does": str(model.task.does).replace("{input}", roles[0]["noun"] if roles else "a text"),
        "about": _about(Path(model.run.folder), len(roles)),
        "roles": [{"name": role["name"], "kind": role["kind"]} for role in roles],
        "searches": bool(model.searches),
        "layers": model.network.layers,
        "features": features,
        "badge": _badge(Path(model.run.folder)),
    }


def _about(folder: Path, inputs: int) -> dict[str, Any] | None:
    """What about.json says, as far as it is what training writes; None where there is none."""
    try:
        found = json.loads(read_whole(folder / "about.json", 2**23))
        data, examples, rows = found["data"], found["examples"], found["inputs"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError, RegardError):
        return None
    if not (isinstance(data, str) and isinstance(examples, int) and isinstance(rows, list)):
        return None
    whole = [row for row in rows if isinstance(row, list) and len(row) == inputs and all(map(_is_text, row))]
    return {"data": short(visible(data)) if data else "", "examples": examples, "inputs": whole[:most_tried]}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _badge(folder: Path) -> dict[str, Any] | None:
    """What `regard faithful` found of these very weights; nothing where they were trained on since."""
    try:
        found = json.loads(read_whole(folder / "faithful.json", 2**24))
        summary, measured = found["summary"], found.get("model")
        if measured is not None and measured != _digest(folder / "model.safetensors"):
            return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # not measured, or not by us: the page can do without
    return summary if isinstance(summary, dict) and isinstance(summary.get("verdict"), str) else None


def _digest(weights: Path) -> str:
    """As faithful.json holds it. The file was read whole to load the model, so to read it once more costs little."""
    with weights.open("rb") as stream:
        return file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()


def item(
    run: int, inputs: Sequence[str], prediction: Prediction, drop_tokens: Sequence[Sequence[int]] = ()
) -> dict[str, Any]:
    """One answer with its attention maps, that of the answer itself first."""
    attention_maps = [one for one in (prediction.look, *prediction.looks) if one is not None]
    return {
        "run": run,
        "inputs": list(inputs),
        "answer": prediction.text,
        **_probable(prediction),
        **_place(prediction),
        **_suggestions(prediction),
        "others": [{"text": one.text, **_probable(one), **_place(one)} for one in prediction.others],
        "drop_tokens": [list(places) for places in drop_tokens] or [[] for _ in inputs],
        "steps": [[_step(one) for one in step] for step in prediction.steps] or None,
        "maps": [table(attention_map) for attention_map in attention_maps],
    }


def _suggestions(first: Prediction) -> dict[str, Any]:
    """The replies that are suggested, the likeliest first, or why there is none."""
    if not (first.reason or first.intent):
        return {}
    every = [one for one in (first, *first.others) if one.text and one.log_prob is not None]
    told = [{"text": one.text, "intent": one.intent, "probability": math.exp(one.log_prob or 0.0)} for one in every]
    return {"suggestions": told, **({"silent": first.reason} if first.reason else {})}


def _place(one: Prediction) -> dict[str, Any]:
    """The characters of the first input that an answer is, where it is a part of it."""
    return {} if one.span is None else {"span": list(one.span)}


def _probable(one: Prediction) -> dict[str, float | None]:
    return {"log_prob": _finite(one.log_prob), "log_prob_per_token": _finite(one.log_prob_per_token)}


def _step(one: Step) -> dict[str, Any]:
    """A hypothesis on the way: its tokens so far, and which of the step before it goes on from."""
    return {
        "tokens": [short(visible(token)) for token in one.tokens],
        "log_prob": _finite(one.log_prob),
        "parent": one.parent,
        "ended": one.ended,
    }


def of_maps(attention_maps: Sequence[AttentionMap], title: str = "") -> dict[str, Any]:
    """A scene of attention maps alone, where nothing is known of the model."""
    nothing = {"run": -1, "inputs": [], "answer": "", "log_prob": None, "log_prob_per_token": None}
    nothing |= {"others": [], "drop_tokens": [], "steps": None}
    return scene([{**nothing, "maps": [table(attention_map)]} for attention_map in attention_maps], [], title)


def table(attention_map: AttentionMap) -> dict[str, Any]:
    """What the page needs of an attention map: heads as flat lists, their mean first where there are several."""
    heads = [(short(visible(name)), head) for name, head in zip(attention_map.names, attention_map.heads, strict=True)]
    if len(heads) > 1 and attention_map.panels != "features":
        heads.insert(0, ("mean", attention_map.mean().weights))
    rows_out, columns_out = attention_map.left_out
    places = min(digits - 1 - math.floor(math.log10(attention_map.top)), 300)
    return {
        "title": short(visible(attention_map.title)) if attention_map.title else "",
        "rows": _regions(attention_map.rows, rows_out),
        "columns": _regions(attention_map.columns, columns_out),
        "directions": {"rows": _direction(attention_map.rows), "columns": _direction(attention_map.columns)},
        "names": [name for name, _ in heads],
        "heads": [head.round(places).ravel().tolist() for _, head in heads],
        "top": attention_map.top,
        "axes": [short(visible(name)) if name else "" for name in attention_map.axes],
        "links": [list(link) for link in attention_map.links],
        "breaks": list(attention_map.breaks),
        "panels": attention_map.panels,
        "source": attention_map.source,
        **({"spectrogram": to_url(255 - spectrogram(attention_map.source))} if attention_map.in_sound else {}),
    }


def _regions(regions: Sequence[Region], left_out: Sequence[bool]) -> list[dict[str, Any]]:
    """As they are shown; one that was not selected stands in brackets. A region without a kind is a token."""
    found = []
    for region, out in zip(regions, left_out, strict=True):
        full = region.text
        token = region if isinstance(region, Token) else None
        place = to_dict(region) if token is None else {"start": token.start, "end": token.end}
        # Tokens come again and again; one as long as a text does not, and is not kept.
        said = (_said if len(full) <= longest else _said.__wrapped__)(full, out)
        found.append({**place, **said, "special": token is not None and _special(token)})
    return found


@lru_cache(2**14)
def _said(full: str, out: bool) -> dict[str, Any]:
    text = f"({short(visible(full))})" if out else short(visible(full))
    said = {"text": text, "letter": cell_len(text) <= 2, "space": not full.strip(), "out": out}
    return said if text == full else {**said, "raw": full}


def _special(token: Token) -> bool:
    """A mark of the model's that covers nothing of the text: the end, the start."""
    if token.start >= 0:
        return token.start == token.end and bool(token.text)
    return marks.fullmatch(token.text) is not None


def _direction(regions: Sequence[Region]) -> str:
    """Where the line begins, by its first letter with a direction (which isolated tokens hide from the browser)."""
    kinds = (unicodedata.bidirectional(c) for one in regions for c in one.text)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and math.isfinite(number) else None


def short(text: str) -> str:
    """At most so many characters, ending in … where something was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
