"""`regard list`: every part that can be named, with its equation, its papers and its options."""

import ast
import inspect
import re
from collections.abc import Callable
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any

import typer

from regard.cli.show import plain, setting, table, to_json
from regard.errors import RegardError
from regard.find import In, Of, about, choices, find, mark, names, nearest, settable, words
from regard.ranges import range_of

__all__ = ["papers", "parts", "run", "tasks"]

example = "regard list score"
kinds = {
    "task": "tasks",
    "score": "attend.score",
    "bias": "attend.bias",
    "normalizer": "attend.normalizer",
    "estimator": "attend.estimator",
    "interact": "attend.interact",
    "field": "fields",
    "embed": "fields.embed",
    "tokenizer": "text",
    "encode": "encode",
    "pool": "pool",
    "match": "predict.match",
    "point": "predict.point",
    "reward": "predict.reward",
    "decode": "predict.generate",
    "language": "predict.language",
    "recommender": "networks.recommend",
    "search": "search",
    "measure": "measure",
    "builtin": "data.builtin",
}
# Not chosen by name, but with options of their own: the sections of a configuration.
sections = {
    "attention": "attend.attention.make",
    "glimpses": "networks.glimpses.Glimpses",
    "reinforce": "attend.reinforce.Reinforce",
    "sparsity": "attend.sparsity.Sparsity",
    "classify_head": "predict.classify.ClassifyHead",
    "regress_head": "predict.regress.RegressHead",
    "tag_head": "predict.tag.TagHead",
    "limits": "search.Limits",
    "teach": "networks.teach.Teach",
    "data": "data.load.load",
    "train": "train.loop.fit",
    "start": "train.start.Start",
    "clean": "messages.clean.Cleaning",
    "allowed": "messages.allowed.made",
    "ngram_match": "predict.ngram_match.NgramMatch",
}

# Where a configuration names each, as on the command line.
usage = {
    "task": "regard train NAME OPTION=VALUE",
    "score": "attention.score=NAME attention.score.OPTION=VALUE",
    "bias": "attention.bias=NAME,NAME or 'attention.bias=[{name=\"window\", D=5}]'",
    "normalizer": "attention.normalizer=NAME attention.normalizer.OPTION=VALUE",
    "interact": "interact=NAME interact.OPTION=VALUE (answer)",
    "field": "input=NAME input.OPTION=VALUE (tasks that write text: source=NAME source.OPTION=VALUE, and"
    " target.OPTION=VALUE for tokens)",
    "embed": "input.embed.OPTION=VALUE (tasks that write text: source.embed.OPTION=VALUE)",
    "tokenizer": "input.tokenizer=NAME input.tokenizer.OPTION=VALUE (likewise source., target. and text.)",
    "encode": "encoder=NAME encoder.OPTION=VALUE",
    "pool": "pool=NAME pool.OPTION=VALUE",
    "match": "match=NAME match.OPTION=VALUE",
    "point": "point=NAME point.OPTION=VALUE (answer)",
    "decode": "decoder=NAME decoder.OPTION=VALUE",
    "language": "network=NAME network.OPTION=VALUE",
    "recommender": "network=NAME network.OPTION=VALUE (recommend)",
    "reward": "reward=NAME",
    "search": "search=NAME search.OPTION=VALUE",
    "measure": 'metrics=NAME,NAME or \'metrics=["chrf", {name="bleu", lower=true}]\'',
    "builtin": "data.train=builtin:NAME (the options are for Python)",
    "estimator": "estimator=NAME estimator.OPTION=VALUE (encoder=resan)",
    "sparsity": "sparsity.OPTION=VALUE, or sparsity=PRICE (encoder=resan)",
    "attention": "attention.OPTION=VALUE",
    "glimpses": "network.OPTION=VALUE (glimpse)",
    "reinforce": "reinforce.OPTION=VALUE",
    "classify_head": "head.OPTION=VALUE",
    "regress_head": "head.OPTION=VALUE",
    "tag_head": "head.OPTION=VALUE",
    "limits": "search.limits.OPTION=VALUE",
    "teach": "teach.OPTION=VALUE",
    "data": "data.OPTION=VALUE",
    "train": "train.OPTION=VALUE",
    "start": "start.OPTION=VALUE",
    "clean": "message.clean.OPTION=VALUE (reply)",
    "allowed": "reply.allowed.OPTION=VALUE (reply)",
    "ngram_match": "match.OPTION=VALUE (reply)",
}

unbroken = "\u00a0"  # a space at which no line is broken
widest_column = 28  # of options with their defaults; a longer one has a line to itself

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
    """List parts and options.

    Each part has its equation and papers; each option what it does, its default and its range.
    """
    known = [*kinds, *sections]
    if kind is None or kind in known:
        found = {one: parts(one) for one in ([kind] if kind else known)}
    else:
        found = {one: [_part(kind, find(folder, kind))] for one, folder in kinds.items() if kind in names(folder)}
    if not found:
        raise RegardError(f"unknown part {kind!r}", do=nearest(str(kind), known))
    if as_json:
        print(to_json([{"kind": one, **part} for one, some in found.items() for part in some]))
        return
    for number, (one, some) in enumerate(found.items()):
        print("\n\n" * (number > 0) + _wrapped(f"{one.upper()}: {_about(one)}", 0, 2))
        print(_wrapped(f"usage: {usage[one]}", 2, 4))
        for part in some:
            _show(part, named=one in kinds)


def _show(part: dict[str, Any], named: bool) -> None:
    """A part as a paragraph: what it is, its papers, and its options in two columns."""
    print("\n" + _wrapped(f"{part['name']}: {part['about']}" if named else part["about"], 2, 4))
    for line in part["papers"]:
        if not _cited(line, part["about"]):
            print(_wrapped(line, 6, 8))
    written = [(f"{option['name']}={setting(option['default'])}", option) for option in part["options"]]
    column = max((len(start) for start, _ in written if len(start) <= widest_column), default=0)
    for start, option in written:
        values = f"[{option['values']}]" if "values" in option else ""
        if len(start) > column:
            print(_wrapped(start, 6, 8))
            print(_wrapped(option["about"], 8 + column, 8 + column, values))
        else:
            print(_wrapped(f"{start:{column}}  {option['about']}", 6, 8 + column, values))


def _wrapped(text: str, first: int, rest: int, last: str = "") -> str:
    """As wide as the terminal, with indents; `last` comes at the end and is not broken."""
    text, last = plain(text), plain(last).replace(" ", unbroken)
    return fill(
        f"{text} {last}".rstrip(),
        get_terminal_size((100, 24)).columns,
        initial_indent=" " * first,
        subsequent_indent=" " * rest,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(unbroken, " ")


def parts(kind: str) -> list[dict[str, Any]]:
    """Every part of a kind: name, about, papers, options (each with its default, what it does and may be)."""
    if kind in sections:
        return [_part(kind, _section(kind))]
    return [_part(name, find(kinds[kind], name)) for name in names(kinds[kind])]


def _section(kind: str) -> Callable[..., Any]:
    module, _, name = sections[kind].rpartition(".")
    return getattr(__import__(f"regard.{module}", fromlist=[name]), name)  # type: ignore[no-any-return]


def _part(name: str, thing: Callable[..., Any]) -> dict[str, Any]:
    module = inspect.getdoc(inspect.getmodule(thing)) or ""
    first = (inspect.getdoc(thing) or module).split("\n")[0]
    return {
        "name": name,
        "about": first.replace("`", ""),
        "papers": papers(f"{module} {inspect.getdoc(thing) or ''}"),
        "options": [_option(key, parameter) for key, parameter in settable(thing).items()],
    }


def papers(text: str) -> list[str]:
    """Who wrote it and when, with the title where it is given; each once, as it is cited at the greatest length."""
    found = dict.fromkeys(match for match in cited.findall(" ".join(text.split())) if match)
    return [one for one in found if not any(_same(one, other) for other in found)]


def _same(one: str, other: str) -> bool:
    """Whether the other is the same paper, cited at greater length: its first author and year are the same."""
    if len(other) <= len(one) or '"' in one:
        return False
    first, year = re.compile(author), one[-4:]
    return first.findall(one)[0] == first.findall(other)[0] and f" {year}" in other


def _cited(paper: str, line: str) -> bool:
    """Whether a line names the paper, by its first author and year: "(Xu 2015)"."""
    author, year = re.findall(r"[^ ,]+", paper)[0], re.findall(r"\d{4}", paper)[0]
    return bool(re.search(rf"{re.escape(author)}\b[^;()\d]*{year}", line))


def _option(name: str, parameter: inspect.Parameter) -> dict[str, Any]:
    said: dict[str, Any] = {"name": name, "default": parameter.default, "about": about(parameter)}
    if listed := _listed(parameter):
        said |= {"expected": listed, "values": listed}
    else:
        forms = {"expected": words(parameter.annotation), "values": words(parameter.annotation, short=True)}
        said |= {key: form for key, form in forms.items() if form}
    if found := choices(parameter):
        said["choices"] = found
    return said | (allowed.json() if (allowed := range_of(parameter.annotation)) else {})


def _listed(parameter: inspect.Parameter) -> str:
    """What shows the values of an option that is itself a part."""
    found = mark(parameter)
    if isinstance(found, In):
        return f"regard list {next(kind for kind, folder in kinds.items() if folder == found.folder)}"
    if isinstance(found, Of):
        folder, _, name = found.place.rpartition(".")[0].rpartition(".")
        part = name if folder in kinds.values() else ""
        section = next((kind for kind, place in sections.items() if place == found.place), part)
        return f"regard list {section}" if section else "options of its own"
    return ""


def _about(kind: str) -> str:
    """The first sentence of the folder's or the module's docstring, read without importing it."""
    return _first_line(f"regard.{kinds[kind]}" if kind in kinds else _section(kind).__module__)


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
