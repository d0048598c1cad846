"""`regard list`: every part that can be named, with its equation, its paper and its options."""

import ast
import inspect
import re
from collections.abc import Callable
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from regard.cli.show import plain, setting, table, to_json
from regard.errors import RegardError
from regard.find import find, names, nearest, settable

__all__ = ["papers", "parts", "run", "tasks"]

example = "regard list score"
kinds = {
    "task": "tasks",
    "score": "attend.score",
    "bias": "attend.bias",
    "weigh": "attend.weigh",
    "text": "text",
    "encode": "encode",
    "pool": "pool",
    "match": "predict.match",
    "decode": "predict.generate",
    "language": "predict.language",
    "search": "search",
    "measure": "measure",
    "made": "data.made",
}
# Not chosen by name, but with options of their own: the sections of a configuration.
sections = {
    "attention": "attend.attention.make",
    "embed": "encode._words.Words",
    "reinforce": "attend.reinforce.Reinforce",
    "data": "data.load.load",
    "train": "train.loop.fit",
}

author = r"[A-ZÀ-Þ][\w’'-]+"
paper = rf"{author}(?:, {author})*(?:,? (?:&|and) {author})?(?: et al\.)? (?:19|20)\d\d"
# A title may follow; what stands in quotes by itself is no paper, even where it holds a year.
cited = re.compile(rf'"[^"]*"|({paper}(?:, "[^"]+")?)')


def run(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help=", ".join([*kinds, *sections]) + ", or the name of a part.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list and nothing else.")] = False,
) -> None:
    """List every part and option. Each part comes with its equation, its paper and its options' defaults."""
    known = [*kinds, *sections]
    if kind is None or kind in known:
        found = {one: parts(one) for one in ([kind] if kind else known)}
    else:
        found = {one: [_part(kind, find(folder, kind))] for one, folder in kinds.items() if kind in names(folder)}
    if not found:
        raise RegardError(f"no part or kind of part is named {kind!r}", do=nearest(str(kind), known))
    if as_json:
        print(to_json([{"kind": one, **part} for one, some in found.items() for part in some]))
        return
    for number, (one, some) in enumerate(found.items()):
        print("\n" * (number > 0) + _wrapped(f"{one.upper()}: {_about(one)}", 0, 2))
        for part in some:
            print(_wrapped(f"{part['name']}: {part['about']}", 2, 4))
            for line in (*part["papers"], "  ".join(map(_written, part["options"]))):
                if line:
                    print(_wrapped(line, 6, 6))


def _wrapped(text: str, first: int, rest: int) -> str:
    return fill(
        plain(text),
        get_terminal_size((100, 24)).columns,
        initial_indent=" " * first,
        subsequent_indent=" " * rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def parts(kind: str) -> list[dict[str, Any]]:
    """Every part of a kind: name, about, papers, options (each with its default and what else it may be)."""
    if kind in sections:
        module, _, name = sections[kind].rpartition(".")
        found = getattr(__import__(f"regard.{module}", fromlist=[name]), name)
        return [_part(kind, found)]
    return [_part(name, find(kinds[kind], name)) for name in names(kinds[kind])]


def _part(name: str, thing: Callable[..., Any]) -> dict[str, Any]:
    module = inspect.getdoc(inspect.getmodule(thing)) or ""
    about = (inspect.getdoc(thing) or module).split("\n")[0].replace("`", "")
    return {
        "name": name,
        "about": about,
        "papers": papers(f"{module} {inspect.getdoc(thing) or ''}"),
        "options": [_option(parameter) for parameter in settable(thing).values()],
    }


def papers(text: str) -> list[str]:
    """Who wrote it and when, with the title where it is given; each once."""
    found = [match for match in cited.findall(" ".join(text.split())) if match]
    return [one for one in dict.fromkeys(found) if not any(o != one and o.startswith(one) for o in found)]


def _option(parameter: inspect.Parameter) -> dict[str, Any]:
    said: dict[str, Any] = {"name": parameter.name, "default": parameter.default}
    if get_origin(parameter.annotation) is Literal:
        said["choices"] = get_args(parameter.annotation)
    return said


def _written(option: dict[str, Any]) -> str:
    default = setting(option["default"])
    others = [str(one) for one in option.get("choices", ()) if one != option["default"]]
    return f"{option['name']}={'|'.join([default, *others])}"


def _about(kind: str) -> str:
    """The first sentence of the folder's or the module's docstring, read without importing it."""
    place = kinds.get(kind) or sections[kind].rpartition(".")[0]
    return _first_line(f"regard.{place}")


def _first_line(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    with open(spec.origin, encoding="utf-8") as file:
        line = (ast.get_docstring(ast.parse(file.read())) or "").split("\n")[0]
    return line.replace("`", "").split(". ")[0].rstrip(".")


def tasks() -> str:
    """The tasks, one a line, found without importing them."""
    return table([(name, _first_line(f"regard.tasks.{name}")) for name in names("tasks")])
