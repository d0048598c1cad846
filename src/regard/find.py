"""Finds parts by name: "additive" or "my.package.Thing" → class; a wrong name suggests the nearest.

A folder (`attend.score`, `encode`, `tasks`, …) has one part per file. The name in a configuration, the file and the
class are the same word: `scaled_dot`, `scaled_dot.py`, `ScaledDot`. Files that begin with `_` and folders inside are
not parts.

The constructor's signature is the schema of its options. Parameters **without** a default are passed by the code that
builds the part (sizes, sub-parts); parameters **with** a default are options. A parameter that is itself a part names
its folder, `score: Annotated[Spec, In("attend.score")] = "dot"`, or the callable whose options it holds,
`attention: Annotated[Spec, Of("attend.attention.make")]`. Numbers have a range (`regard.ranges`). A plain string in the
annotation describes the option in one sentence: `dropout: Annotated[Dropout, "dropout between layers"] = 0.1`.

    build("attend.score", {"name": "additive", "hidden": 64}, query=512, key=512)
"""

import importlib
import inspect
import math
import types as pytypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from keyword import iskeyword
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from regard.contracts import check_class, check_part
from regard.errors import RegardError, brief
from regard.ranges import Range, explained, range_of, sentence_of

__all__ = [
    *(
        "PLAIN",
        "In",
        "Of",
        "Spec",
        "about",
        "build",
        "call",
        "check",
        "choices",
        "find",
        "flat",
        "full",
        "mark",
        "merge",
        "names",
    ),
    *("named", "nearest", "settable", "table", "words"),
]

type_names = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
short_names = {bool: "true or false"}  # where a default shows what kind of value it is
nouns = {  # what a part of a folder is called in messages
    "tasks": "task",
    "attend.score": "score",
    "attend.bias": "bias",
    "attend.normalizer": "normalizer",
    "attend.estimator": "estimator",
    "attend.interact": "interaction",
    "fields": "field",
    "fields.embed": "embedding",
    "text": "tokenizer",
    "encode": "encoder",
    "pool": "pooling",
    "predict.match": "matching",
    "predict.point": "pointer",
    "predict.reward": "reward",
    "predict.generate": "decoder",
    "predict.language": "language model",
    "networks.recommend": "recommender",
    "measure": "metric",
    "data.builtin": "built-in data set",
}
# The range of a number whose annotation sets no limits.
any_number: dict[Any, Range] = {int: Range(-(2**63), 2**63 - 1), float: Range(-math.inf, math.inf, True, True)}

Spec = str | Mapping[str, Any]
"""A part in a configuration: its name, or a table of options with a `name` (optional if there is a default)."""

PLAIN: Spec = {}
"""A part with its default options."""


@dataclass(frozen=True)
class In:
    """Marks a parameter as a part chosen from a folder."""

    folder: str


@dataclass(frozen=True)
class Of:
    """Marks a parameter as the options of one callable, given by its dotted path inside regard. `short` is the option
    that is meant where a plain number is given in place of a table."""

    place: str
    short: str = ""


def table(spec: Spec) -> dict[str, Any]:
    """The options of a part without a name."""
    return {} if isinstance(spec, str) else dict(spec)


def named(spec: Spec) -> str:
    """The name of a part; "" where there are options alone."""
    return spec if isinstance(spec, str) else str(spec.get("name", ""))


def nearest(word: str, known: Iterable[str]) -> str:
    """ "did you mean …?" if a known word is similar, else all known words."""
    known = [name for name in sorted(islice(known, 1000)) if len(name) <= 100]  # searching more takes long
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    listed = ", ".join(known[:200]) + (", …" if len(known) > 200 else "")
    return f"did you mean {close[0]!r}?" if close else "known: " + (listed or "none")


def names(folder: str) -> list[str]:
    """The names of all parts of a folder."""
    package = importlib.import_module(f"regard.{folder}")
    return sorted(m.name for m in iter_modules(package.__path__) if not (m.ispkg or m.name.startswith("_")))


def find(folder: str, name: str) -> type[Any]:
    """The class for a name: a file of the folder, or a dotted path to the user's own class."""
    if "." in name:
        module, _, attribute = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            do = f"give its file with --code {module}.py" if module.isidentifier() else ""
            raise RegardError(
                f"cannot import {name!r} ({error})", expected="a class, written as package.module.Class", do=do
            ) from None
        if not isinstance(found, type):
            raise RegardError(f"{name!r} is {found!r}", expected="a class, written as package.module.Class")
        check_class(folder, found)
        return found
    known = names(folder)
    if name not in known:
        raise RegardError(f"unknown {nouns.get(folder, folder)} {name!r}", do=nearest(name, known))
    module_found = importlib.import_module(f"regard.{folder}.{name}")
    return getattr(module_found, "".join(word.capitalize() for word in name.split("_")))  # type: ignore[no-any-return]


def settable(thing: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The options of a callable: its parameters that have a default. `from_` is the option `from`, which Python keeps
    for itself."""
    return {
        name.removesuffix("_"): p
        for name, p in inspect.signature(thing).parameters.items()
        if p.default is not inspect.Parameter.empty
    }


def mark(parameter: inspect.Parameter) -> In | Of | None:
    """The mark of a parameter that is itself a part."""
    if get_origin(parameter.annotation) is Annotated:
        return next((m for m in get_args(parameter.annotation)[1:] if isinstance(m, In | Of)), None)
    return None


def about(parameter: inspect.Parameter) -> str:
    """The sentence that describes an option, or an empty string."""
    return sentence_of(parameter.annotation)


def choices(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """The values of an option that has a fixed set of them."""
    kind = parameter.annotation
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_args(kind) if get_origin(kind) is Literal else ()


def _named(spec: Any, default: Any, path: str, sentence: str = "") -> dict[str, Any]:
    """A spec as a table with a name, by default that of the default."""
    base = {"name": default} if isinstance(default, str) else dict(default or {})
    if isinstance(spec, str):
        spec = {"name": spec}
    if not isinstance(spec, Mapping):
        expected = explained("the name of a part or a table of its options", sentence)
        raise RegardError(f"{path}: got {brief(spec)}", expected=expected)
    return merge(base, spec) if spec.get("name", base.get("name")) == base.get("name") else dict(spec)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merges options recursively; a part with another name keeps none of the old part's options."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, str) and isinstance(value, Mapping) and "name" not in value:
            old = {"name": old}
        if isinstance(old, Mapping) and isinstance(value, str):
            value = {"name": value}
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            renamed = "name" in value and value["name"] != old.get("name", value["name"])
            result[key] = dict(value) if renamed else merge(old, value)
        else:
            result[key] = value
    return result


def flat(config: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Every option with its dotted name."""
    pairs = []
    for key, value in config.items():
        pairs += flat(value, f"{path}{key}.") if isinstance(value, Mapping) else [(path + key, value)]
    return pairs


def _target(mark: In | Of, spec: dict[str, Any], path: str) -> Callable[..., Any]:
    if isinstance(mark, In):
        if "name" not in spec:
            raise RegardError(f"{path}: no name", do=f"choose one of {', '.join(names(mark.folder))}")
        if not isinstance(spec["name"], str):  # 1.5 is no name, though `str` would make a dotted one of it
            raise RegardError(f"{path}: got {brief(spec['name'])}", expected="the name of a part")
        return find(mark.folder, spec["name"])
    if "name" in spec:
        raise RegardError(f"{path}: got {brief(spec['name'])}", expected="a table of options, without a name")
    module, _, attribute = mark.place.rpartition(".")
    return getattr(importlib.import_module(f"regard.{module}"), attribute)  # type: ignore[no-any-return]


def full(thing: Callable[..., Any], options: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """The options, checked and with all defaults filled in, including those of sub-parts."""
    known = settable(thing)
    for key in options:
        if key not in known and key != "name":
            raise RegardError(f"unknown option {path + key!r}", do=nearest(key, known))
    result: dict[str, Any] = {"name": options["name"]} if "name" in options else {}
    for key, parameter in known.items():
        found = mark(parameter)
        given = options.get(key, parameter.default)
        if found is None:
            result[key] = _checked(given, parameter.annotation, path + key) if key in options else given
        elif given is None or (given == "none" and parameter.default is None):
            result[key] = None
        elif isinstance(parameter.default, list | tuple):  # several parts of one folder, or their names with commas
            several = [one.strip() for one in given.split(",")] if isinstance(given, str) else given
            several = several if isinstance(several, list | tuple) else [several]
            specs = [_named(one, None, path + key, about(parameter)) for one in several]
            result[key] = [full(_target(found, one, path + key), one, f"{path}{key}.") for one in specs]
        else:
            default = parameter.default
            if isinstance(found, Of) and found.short:
                given, default = (
                    {found.short: one} if isinstance(one, int | float) else one for one in (given, default)
                )
            if isinstance(found, Of) and not isinstance(given, Mapping):
                some = next(iter(settable(_target(found, {}, path + key))), "…")
                expected = explained(f"its own options, for example {path + key}.{some}=", about(parameter))
                raise RegardError(f"{path + key}: got {brief(given)}", expected=expected)
            spec = _named(given, default, path + key, about(parameter))
            result[key] = full(_target(found, spec, path + key), spec, f"{path}{key}.")
    return result


def check(thing: Callable[..., Any], options: Mapping[str, Any], path: str = "") -> None:
    """Raises if an option is unknown or has a wrong value; `path` is the prefix of its name."""
    full(thing, options, path)


def words(kind: Any, short: bool = False) -> str:
    """The values that an annotation allows, in words; an empty string if there is no limit.

    The short form leaves out what a default shows: `1 to 1,024` instead of `a whole number from 1 to 1,024`.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        allowed = str(range_of(kind) or "")
        return f"{words(inner[0], short)} {allowed.removeprefix('from ') if short else allowed}".strip()
    if origin in (Union, pytypes.UnionType):
        return " or ".join(filter(None, (words(one, short) for one in inner)))
    if origin is Literal:
        return ("" if short else "one of ") + ", ".join(map(str, inner))
    if origin in (tuple, list):
        each = words(inner[0], short) if inner[0] in type_names or range_of(inner[0]) else ""
        return f"a list, each {each}" if each else "a list"
    return "none" if kind is type(None) else (short_names if short else type_names).get(kind, "")


def _checked(value: Any, kind: Any, path: str, sentence: str = "") -> Any:
    """The value, if it has the annotated type and range (an int is accepted for a float).

    `sentence` describes the option, if `kind` is only a part of its annotation.
    """
    sentence = sentence_of(kind) or sentence

    def wrong(expected: str = "") -> RegardError:
        return RegardError(f"{path}: got {brief(value)}", expected=explained(expected or words(kind), sentence))

    if kind is inspect.Parameter.empty or kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    plain_kind = inner[0] if origin is Annotated else kind
    if plain_kind in (int, float):
        is_number = isinstance(value, int | plain_kind) and not isinstance(value, bool)
        if not is_number or value not in (range_of(kind) or any_number[plain_kind]):
            raise wrong()
        try:
            return plain_kind(value)
        except OverflowError:  # a whole number beyond every float
            raise wrong() from None
    if origin is Annotated:
        return _checked(value, plain_kind, path, sentence)
    if origin in (Union, pytypes.UnionType):
        if (value is None or value == "none") and type(None) in inner:
            return None
        for one in inner:
            if one is not type(None):
                try:
                    return _checked(value, one, path, sentence)
                except RegardError:
                    continue
        raise wrong()
    if origin is Literal:
        if value in inner:
            return value
        raise wrong()
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return str(value)  # a column called 1, typed as it is
        except ValueError:  # Python writes no whole number of over 4,300 digits
            raise wrong() from None
    if kind in type_names:
        if isinstance(value, kind):
            return value
        raise wrong()
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            raise wrong(f"a list, for example {path}=[1,2]")
        each = [inner[0]] * len(value) if origin is list or inner[-1] is Ellipsis else list(inner)
        if len(each) != len(value):
            raise wrong(f"a list of {len(each)}")
        return tuple(_checked(one, kind_of_one, path, sentence) for one, kind_of_one in zip(value, each, strict=True))
    return value


def call(thing: Callable[..., Any], options: Mapping[str, Any], **given: Any) -> Any:
    """Calls with the user's options and with those of the `given` arguments that the callable takes."""
    filled = full(thing, options)  # the values as checked: "none" is None by now, a part has its name
    takes = inspect.signature(thing).parameters
    offered = {key: value for key, value in given.items() if key in takes}
    own = {f"{key}_" if iskeyword(key) else key: filled[key] for key in options if key != "name"}
    # TOML has lists where signatures have tuples.
    return thing(**{key: tuple(v) if isinstance(v, list) else v for key, v in own.items()} | offered)


def _required(thing: Callable[..., Any]) -> list[str]:
    """The parameters that code must give: those without a default."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(thing).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind in named]


def build(folder: str, spec: Spec, **given: Any) -> Any:
    """Builds the part that `spec` names, with its options and the `given` arguments."""
    table = _named(spec, None, folder)
    target = _target(In(folder), table, folder)
    if missing := [name for name in _required(target) if name not in given]:
        raise RegardError(
            f"{table['name']!r} needs {', '.join(missing)}, which this task does not give to a part of {folder}",
            do="use another one here",
        )
    part = call(target, table, **given)
    if "." in table.get("name", ""):
        check_part(folder, part)
    return part
