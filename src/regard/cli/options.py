"""Options of a run: a TOML file, and over it `key=value` pairs with dotted keys.

A value is read as TOML and, where it is none, as the plain text it is; so `encoder.hidden=512`,
`train.time=5m`, `attention.score=bilinear` and `metrics=["bleu"]` all mean what they say. A part may be
named and its options set in one command: `encoder=recurrent encoder.hidden=64`.

    parse_pairs(["encoder=recurrent", "encoder.hidden=64"])  →  {"encoder": {"name": "recurrent", "hidden": 64}}
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any

from regard.errors import RegardError
from regard.files import tables
from regard.format import check_format
from regard.reading import open_file
from regard.trust import admit

__all__ = ["asked", "parse_pairs", "read_toml", "search"]

INSTEAD = {
    "data": "use --data or data.train=",
    "train": "set train.lr= or another option of train",
    "start": "use --start or start.run=",
}
largest = 1 << 20  # bytes of a file of options
# Options of the command, which look as if they could be options of a run.
flags = ("data", "out", "time", "config", "fresh", "quiet", "trust", "code")


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a file."""
    try:
        with open_file(path) as file:
            data = file.read(largest + 1)
        if len(data) > largest:
            raise RegardError(f"{path}: more than {largest:,} bytes", expected="a TOML file with options")
        return tables(data)
    except RegardError:
        raise
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RegardError(f"{path}:{line}: not UTF-8", do="save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        where, what = (f"{path}:{place[1]}", str(error)[: place.start()]) if place else (path, str(error))
        raise RegardError(f"{where}: not TOML ({what})", expected="lines like hidden = 512 under [encoder]") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or tables without end
        raise RegardError(f"{path}: not TOML ({error})", expected="lines like hidden = 512 under [encoder]") from None


def parse_pairs(pairs: Iterable[str]) -> dict[str, Any]:
    """Nested tables of options; of two values for one key the later counts."""
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        path = key.split(".")
        if not equals or not all(word.isidentifier() for word in path):
            raise RegardError(f"cannot read {pair!r}", expected="key=value, for example encoder.hidden=512")
        _put(options, path, _value(text), pair)
    return options


def _put(table: dict[str, Any], path: list[str], value: Any, pair: str) -> None:
    key, *rest = path
    there = table.get(key)
    if isinstance(there, str) and (rest or isinstance(value, dict)):
        there = {"name": there}  # a part that was named before its options came
    if not rest and not isinstance(there, dict):
        table[key] = value
        return
    there = {} if there is None else there
    if not isinstance(there, dict):
        raise RegardError(f"{pair!r}: {key} is already set to {there!r}", do="remove one of the two")
    table[key] = there
    if rest:
        _put(there, rest, value, pair)
    elif isinstance(value, dict):
        there.update(value)
    elif isinstance(value, str):
        there["name"] = value
    else:
        raise RegardError(f"{pair!r}: {key} is a part with its own options", expected="the name of a part")


def _value(text: str) -> Any:
    """What TOML reads in it, alone in its place; else the text."""
    try:
        read = tables(f"value = [{text}]".encode())
    except (ValueError, RecursionError):  # no TOML, or a number of thousands of digits
        return text
    if len(read) != 1 or len(read["value"]) != 1 or _has_dates(read["value"]):
        return text  # several values, or a day that is more likely a name
    return read["value"][0]


def _has_dates(value: Any) -> bool:
    if isinstance(value, list | dict):
        return any(map(_has_dates, value.values() if isinstance(value, dict) else value))
    return isinstance(value, date | time)


def asked(
    task: str,
    config: str | None,
    pairs: Iterable[str],
    data: str = "",
    time: str = "",
    trust: bool = False,
    start: str = "",
) -> dict[str, Any]:
    """Everything asked for, in one: the file, the pairs over it, and over them what was given by option."""
    if "=" in task:
        raise RegardError(f"got {task!r} where a task was expected", do="put the task first: regard train translate …")
    from_file, from_pairs = read_toml(config) if config else {}, parse_pairs(pairs)
    admit(config, from_file, trust)  # people pass files of options on, as they do runs
    if "format" in from_file:  # the config.toml of a run
        check_format(str(config), from_file)
    named = from_file.pop("task", task)
    if named != task:
        raise RegardError(f"{config} is for task {named!r}, not {task!r}", do=f"use {named} instead of {task}")
    for source in (from_file, from_pairs):
        for key, value in source.items():
            if key in INSTEAD and not isinstance(value, Mapping):
                instead = INSTEAD[key]
                raise RegardError(f"{key}={value}", expected=f"{key}.OPTION=VALUE", do=instead)
            if key in flags and key != "data":
                raise RegardError(f"unknown option {key!r}", do=f"use --{key}")
    from regard.api import merge

    given = {
        "data": {"train": data} if data else {},
        "train": {"time": time} if time else {},
        "start": {"run": start} if start else {},
    }
    return merge(merge(from_file, from_pairs), {key: value for key, value in given.items() if value})


def search(
    beam: int | None = None,
    n_best: int = 1,
    sample: bool = False,
    sampling: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Options of the search by what was asked for on the command line; empty where the run's own is wanted."""
    given = {key: value for key, value in (sampling or {}).items() if value is not None}
    if sample:
        if beam is not None:
            raise RegardError("--sample and --beam", expected="only one of them")
        return {"name": "sample", **given, **({"count": n_best} if n_best != 1 else {})}
    if given:
        flag = "--" + next(iter(given)).replace("_", "-")
        raise RegardError(f"{flag} without --sample", do=f"add --sample, or remove {flag}")
    if beam is None and n_best == 1:
        return {}
    if beam is not None and n_best > beam:
        raise RegardError(
            f"--n-best {n_best} with --beam {beam}", expected="a beam at least that large", do=f"use --beam {n_best}"
        )
    return {"name": "beam", **({} if beam is None else {"beam_size": beam}), "n_best": n_best}
