"""A scene: all that the page draws, as plain JSON; embedded in a file, or answered by a service.

    {"version": 1, "title": …, "live": null, "runs": [{name, task, roles, searches, layers, features, badge}, …],
     "items": [{run, inputs, answer, log_prob, log_prob_per_token, others, without, steps, gazes}, …]}

    found = model.predict([("guten Tag",)])
    page(scene([item(0, ("guten Tag",), found[0])], [describe_run(model, "translate")]))

Tokens are shown through `visible`; where that differs from what they are, `raw` keeps them exactly.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import blake2b, file_digest
from inspect import signature
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from regard.files import read_whole
from regard.look.attention_map import AttentionMap, visible
from regard.look.layers import count
from regard.types import Prediction, Step, Token

__all__ = ["describe_run", "item", "of_maps", "scene", "short", "table"]

longest = 200  # characters of a token as it is shown; the style shows fewer where room is short
digits = 4  # of the largest weight; the eye sees two
feature_wise = ("disan", "resan", "source2token", "feature_wise")  # parts with weights for each feature
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


def describe_run(model: Any, name: str) -> dict[str, Any]:
    """What the page says of a run, with how far its weights explain its answers where that was measured."""
    roles = list(getattr(model.task, "roles", ()))
    return {
        "name": name,
        "task": str(model.config["task"]),
        "roles": roles if len(roles) == model.inputs else ["text"] * model.inputs,
        "searches": bool(model.searches),
        "layers": count(getattr(model, "network", None)),
        "features": _has_features(model),
        "badge": _badge(Path(model.run.folder)),
    }


def _has_features(model: Any) -> bool:
    """Whether a part that weighs each feature by itself reads for a task that can show them one by one."""
    parts = json.dumps([model.config.get(part) for part in ("encoder", "pool")], default=str)
    shows = "features" in signature(model.task.predict).parameters if hasattr(model.task, "predict") else False
    return shows and any(f'"{name}"' in parts for name in feature_wise)


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
    run: int, inputs: Sequence[str], prediction: Prediction, without: Sequence[Sequence[int]] = ()
) -> dict[str, Any]:
    """One answer with all that was looked at for it, the answer's own look first."""
    attention_maps = [
        attention_map for attention_map in (prediction.look, *prediction.looks) if attention_map is not None
    ]
    return {
        "run": run,
        "inputs": list(inputs),
        "answer": prediction.text,
        **_probable(prediction),
        "others": [{"text": one.text, **_probable(one)} for one in prediction.others],
        "without": [list(places) for places in without] or [[] for _ in inputs],
        "steps": [[_step(one) for one in step] for step in prediction.steps] or None,
        "gazes": [table(attention_map) for attention_map in attention_maps],
    }


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
    nothing |= {"others": [], "without": [], "steps": None}
    return scene([{**nothing, "gazes": [table(attention_map)]} for attention_map in attention_maps], [], title)


def table(attention_map: AttentionMap) -> dict[str, Any]:
    """What the page needs of an attention map: heads as flat lists, their mean first where there are several."""
    heads = [(short(visible(name)), head) for name, head in zip(attention_map.names, attention_map.heads, strict=True)]
    if len(heads) > 1 and heads[0][0] != "mean":
        heads.insert(0, ("mean", attention_map.mean().weights))
    rows_out, columns_out = attention_map.left_out
    places = min(digits - 1 - math.floor(math.log10(attention_map.top)), 300)
    kind = _kind(attention_map)
    return {
        "title": short(visible(attention_map.title)) if attention_map.title else "",
        "rows": _tokens(attention_map.rows, rows_out),
        "columns": _tokens(attention_map.columns, columns_out),
        "directions": {"rows": _direction(attention_map.rows), "columns": _direction(attention_map.columns)},
        "names": [name for name, _ in heads],
        "heads": [head.round(places).ravel().tolist() for _, head in heads],
        "top": attention_map.top,
        "links": [list(link) for link in attention_map.links],
        "breaks": list(attention_map.breaks),
        "kind": kind,
        "features": kind == "features",
    }


def _kind(attention_map: AttentionMap) -> str:
    """What the panels are. Rows that only count ("label 1", "label 2", …) are asked by learned queries."""
    names = attention_map.head_names[1:] if attention_map.head_names[:1] == ("mean",) else attention_map.head_names
    for kind in ("features", "layers"):
        if names and all(name.lower().startswith(kind[:-1]) for name in names):
            return kind
    label = attention_map.rows[0].text.rpartition(" ")[0] if len(attention_map.rows) > 1 else ""
    counted = label and all(token.text == f"{label} {number}" for number, token in enumerate(attention_map.rows, 1))
    return "rows" if counted else "heads"


def _tokens(tokens: Sequence[Token], left_out: Sequence[bool]) -> list[dict[str, Any]]:
    """As they are shown; one that was not chosen stands in brackets."""
    found = []
    for token, out in zip(tokens, left_out, strict=True):
        text = short(visible(token.text))
        text = f"({text})" if out else text
        one = {
            "text": text,
            "letter": cell_len(text) <= 2,
            "space": not token.text.strip(),
            "out": out,
            "special": _special(token),
            "start": token.start,
            "end": token.end,
        }
        found.append(one if text == token.text else {**one, "raw": token.text})
    return found


def _special(token: Token) -> bool:
    """A mark of the model's that covers nothing of the text: the end, the start."""
    if token.start >= 0:
        return token.start == token.end and bool(token.text)
    return marks.fullmatch(token.text) is not None


def _direction(tokens: Sequence[Token]) -> str:
    """Where the line begins, by its first letter with a direction (which isolated tokens hide from the browser)."""
    kinds = (unicodedata.bidirectional(c) for t in tokens for c in t.text)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and math.isfinite(number) else None


def short(text: str) -> str:
    """At most so many characters, ending in … where something was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
