"""Checks that a user's own part has what its kind requires, as the base class of its folder says.

A method that every part must write is marked `@abstractmethod` in the base class, an attribute that every part must set
is annotated there without a value. Parts of regard's own are held to the same by the tests.

    check_class("encode", MyEncoder)       # RegardError: my.MyEncoder has no method forward; …
    check_part("encode", MyEncoder(64))    # RegardError: my.MyEncoder does not set self.summary; …
"""

import importlib
from collections.abc import Iterator
from typing import Any

from regard.errors import RegardError

__all__ = ["BASES", "base_of", "check_class", "check_part", "methods", "values"]

# Folder → the base class of its parts.
BASES = {
    "attend.score": "attend.score.Score",
    "attend.bias": "attend.bias.Bias",
    "attend.normalizer": "attend.normalizer.Normalizer",
    "attend.estimator": "attend.estimator.Estimator",
    "fields": "fields.Field",
    "attend.interact": "attend.interact.Interact",
    "encode": "encode.Encoder",
    "pool": "pool.Pool",
    "text": "text.TextKind",
    "predict.match": "predict.match.Match",
    "predict.reward": "predict.reward.Reward",
    "predict.point": "predict.point.Point",
    "predict.generate": "predict.generate.Decoder",
    "predict.language": "predict.language.LanguageModel",
    "networks.recommend": "networks.recommend.Recommender",
    "search": "search.Search",
    "measure": "measure.Measure",
    "data.builtin": "data.builtin.Builtin",
    "tasks": "train.task.Task",
}
PAGE = "see docs/extending.md"


def base_of(folder: str) -> type[Any] | None:
    """The base class of a folder's parts; None where they have none."""
    if folder not in BASES:
        return None
    module, _, name = BASES[folder].rpartition(".")
    return getattr(importlib.import_module(f"regard.{module}"), name)  # type: ignore[no-any-return]


def methods(base: type[Any]) -> list[str]:
    """The methods that every part must write."""
    return [name for name in dir(base) if getattr(getattr(base, name, None), "__isabstractmethod__", False)]


def values(base: type[Any]) -> Iterator[str]:
    """The attributes that every part must set."""
    for kind in reversed(base.__mro__):
        if kind.__module__.startswith("regard."):
            yield from (name for name in vars(kind).get("__annotations__", {}) if not hasattr(base, name))


def check_class(folder: str, part: type[Any]) -> None:
    """Raises if the class could not be a part of this folder."""
    base = base_of(folder)
    if base is None:
        return
    name, protocol = f"{part.__module__}.{part.__qualname__}", getattr(base, "_is_protocol", False)
    if not protocol and not issubclass(part, base):
        article = "an" if base.__name__[0] in "AEIOU" else "a"
        raise RegardError(
            f"{name} is not {article} {base.__name__}", expected=f"a subclass of regard.{BASES[folder]}", do=PAGE
        )
    found = {one: next((vars(kind)[one] for kind in part.__mro__ if one in vars(kind)), None) for one in methods(base)}
    missing = [f"no method {one}" for one, it in found.items() if it is None or hasattr(it, "__isabstractmethod__")]
    if protocol:  # its attributes are asked of the class
        missing += [f"no attribute {one}" for one in values(base) if not hasattr(part, one)]
    if missing:
        raise RegardError(f"{name} has {' and '.join(missing)}", expected=f"what every {base.__name__} has", do=PAGE)


def check_part(folder: str, part: Any) -> None:
    """Raises if the part does not set what the others of this folder do."""
    base = base_of(folder)
    missing = [one for one in values(base) if not hasattr(part, one)] if base is not None else []
    if base is not None and missing:
        name = f"{type(part).__module__}.{type(part).__qualname__}"
        what = " and ".join(f"self.{one}" for one in missing)
        raise RegardError(f"{name} does not set {what}", expected=f"what every {base.__name__} sets", do=PAGE)
