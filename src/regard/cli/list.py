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
from regard.find import In, Of, find, mark, names, nearest, settable, words
from regard.ranges import range_of

__all__ = ["papers", "parts", "run", "tasks"]

example = "regard list score"
kinds = {
    "task": "tasks",
    "score": "attend.score",
    "bias": "attend.bias",
    "normalizer": "attend.normalizer",
    "text": "text",
    "encode": "encode",
    "pool": "pool",
    "match": "predict.match",
    "decode": "predict.generate",
    "language": "predict.language",
    "search": "search",
    "measure": "measure",
    "builtin": "data.builtin",
}
# Not chosen by name, but with options of their own: the sections of a configuration.
sections = {
    "attention": "attend.attention.make",
    "embed": "encode._words.Words",
    "reinforce": "attend.reinforce.Reinforce",
    "classify_head": "predict.classify.Classify",
    "regress_head": "predict.regress.Regress",
    "tag_head": "predict.tag.Tag",
    "limits": "search.Limits",
    "teach": "train.teach.Teach",
    "data": "data.load.load",
    "train": "train.loop.fit",
}

widest_column = 30  # of options with their defaults; what is longer juts out

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
            for line in part["papers"]:
                print(_wrapped(line, 6, 6))
            written = [(f"{option['name']}={setting(option['default'])}", option) for option in part["options"]]
            widest = min(widest_column, max((len(start) for start, _ in written), default=0))
            for start, option in written:
                print(_wrapped(f"{start:{widest}}  {option.get('expected', '')}", 6, 8 + widest))


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
    """Every part of a kind: name, about, papers, options (each with its default and what it may be)."""
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
    if expected := _expected(parameter):
        said["expected"] = expected
    if get_origin(parameter.annotation) is Literal:
        said["choices"] = get_args(parameter.annotation)
    return said | (allowed.json() if (allowed := range_of(parameter.annotation)) else {})


def _expected(parameter: inspect.Parameter) -> str:
    """What the option may be, in words: a kind of number with its range, some choices, or a part from a list."""
    found = mark(parameter)
    if isinstance(found, In):
        return f"regard list {next(kind for kind, folder in kinds.items() if folder == found.folder)}"
    if isinstance(found, Of):
        section = next((kind for kind, place in sections.items() if place == found.place), "")
        return f"regard list {section}" if section else "options of its own"
    return words(parameter.annotation)


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
