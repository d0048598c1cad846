"""What the documents tell one to type is understood: every `regard …` and `python benchmarks/…`, in blocks and in text.

- A command is read by the command line's own parser, and its options by the task's own schema; nothing is trained. So
  an option that is renamed is found here wherever it is told of.
- In a block all of it must be there. In the middle of a text a command may be cut short (`regard look`), TASK, RUN and
  the like stand for something, and … for anything.
- `<!-- not run: why -->` above a block leaves it out.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from regard import api
from regard.cli.list import run as list_parts
from regard.cli.main import app
from regard.cli.options import asked
from regard.cli.trouble import told
from regard.compare import variants
from test_readme import blocks
from test_tables import tables
from tiers import sweep_but

root = Path(__file__).resolve().parent.parent
documents = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
shells = {"console", "sh", "bash", "shell", ""}
inline = re.compile(r"(?<!`)`((?:[A-Z_]+=\S+ )?(?:regard [a-z-]|python benchmarks/)[^`\n]*)`(?!`)")


@dataclass(frozen=True)
class Command:
    where: str
    words: tuple[str, ...]
    whole: bool  # nothing is left out of it


def commands(page: str, name: str) -> Iterator[Command]:
    """Every command of a document, those in its blocks first."""
    found, lines = blocks(page), page.splitlines()
    for block in found:
        if block.language not in shells or not block.runs:
            continue
        prompted = any(line.lstrip().startswith("$ ") for line in block.text.splitlines())
        text = block.text.replace("\\\n", "  ")  # a command may go on in the next line
        for line in text.splitlines():
            if block.language and (line.lstrip().startswith("$ ") or not prompted):
                yield from _spoken(line.lstrip().removeprefix("$ "), f"{name}:{block.line}")
            elif line.startswith("python benchmarks/"):  # a block of no language may hold anything
                yield from _spoken(line, f"{name}:{block.line}")
    inside = {number for block in found for number in range(block.line - 1, block.end + 1)}
    for number, line in enumerate(lines, start=1):
        for text in inline.findall(line) if number not in inside else ():
            words = [word for word in shlex.split(text) if not re.search(r"…|\[|^\.\.\.$", word)]
            yield Command(f"{name}:{number}", _bare(words), whole=False)


def _spoken(line: str, where: str) -> Iterator[Command]:
    """The commands of a shell line that are ours, with |, && and the like between them."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    command: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set("();<>|&"):
            ours = _bare(command)
            if ours[:1] == ("regard",) or (ours[:1] == ("python",) and ours[1:2] and "benchmarks/" in ours[1]):
                yield Command(where, ours, whole=True)
            command = []
        else:
            command.append(word)


def _bare(words: list[str]) -> tuple[str, ...]:
    """Without settings of the environment before it."""
    start = next((i for i, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)), len(words))
    return tuple(words[start:])


every = [one for path in documents for one in commands(path.read_text(encoding="utf-8"), path.name)]


def trouble(command: Command) -> str:
    """What the command line would say of a `regard` command; nothing where it is one it can follow."""
    verb, rest = "".join(command.words[1:2]), list(command.words[2:])
    top: Any = typer.main.get_command(app)
    try:
        if verb not in top.commands:
            known = {option for one in top.params for option in one.opts} | {"--help", ""}
            return "" if verb in known else f"no command named {verb!r}"
        given = top.commands[verb].make_context(verb, rest).params
        if verb == "list":
            list_parts(**given)
        task = given.get("task")
        if task and not task.isupper():
            pairs = given["pairs"] or []
            for some in variants(pairs).values() if verb == "compare" else [pairs]:
                api.make_task(api.configure(task, asked(task, None, some, given["data"], given.get("time", ""))))
    except Exception as error:
        cut = type(error).__name__ == "MissingParameter" and not command.whole
        return "" if cut else told(error)[1]
    return ""


@pytest.mark.parametrize("share", sweep_but([1, 4], 4))
def test_what_is_told_of_regard_is_understood(share: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every fourth command first, all of them with the sweeps."""
    found = [one for one in every if one.words[0] == "regard"]
    assert len(found) > 50
    assert {one.where.split(":")[0] for one in found} >= {"README.md", "generation.md", "sentences.md", "service.md"}
    wrong = [f"{one.where}: {shlex.join(one.words)}: {said}" for one in found[::share] if (said := trouble(one))]
    assert not wrong, "\n".join(wrong)


# Runs a benchmark up to where its options have been read, and no further.
reader = """
import argparse, contextlib, io, json, os, runpy, sys

class Read(BaseException):
    pass

def stopping(parse):
    def read(self, *given, **more):
        for word in sys.argv[1:]:  # first of all: where others are missing, argparse would tell only of these
            if word.startswith("--") and word.split("=")[0] not in self._option_string_actions:
                self.error(f"unrecognized arguments: {word}")
        parse(self, *given, **more)
        raise Read
    return read

for name in ("parse_args", "parse_intermixed_args"):
    setattr(argparse.ArgumentParser, name, stopping(getattr(argparse.ArgumentParser, name)))
said = []
for words in json.load(sys.stdin):
    sys.argv[:], sys.path[0], errors = words, os.path.dirname(words[0]), io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(words[0], run_name="__main__")
        said.append("options are never read")
    except Read:
        said.append("")
    except SystemExit:
        said.append(errors.getvalue().strip().splitlines()[-1])
    except Exception as error:
        said.append(repr(error))
json.dump(said, sys.stdout)
"""


def benchmark_troubles(found: list[Command]) -> list[str]:
    """What each benchmark says of its options, which are read by its own parser; "" where nothing."""
    said, read = [""] * len(found), []
    for place, one in enumerate(found):
        path = root / one.words[1]
        if not path.is_file():
            said[place] = "there is no such file"
        elif "ArgumentParser" in path.read_text(encoding="utf-8"):
            read.append(place)
        elif len(one.words) > 2:
            said[place] = "it takes no options"
    lines = json.dumps([[str(root / found[place].words[1]), *found[place].words[2:]] for place in read])
    done = subprocess.run([sys.executable, "-c", reader], input=lines, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    for place, line in zip(read, json.loads(done.stdout), strict=True):
        said[place] = "" if "arguments are required" in line and not found[place].whole else line
    return said


@pytest.mark.sweep
def test_what_is_told_of_benchmarks_is_understood() -> None:
    found = [one for one in every if one.words[0] == "python"]
    assert len(found) > 15
    wrong = [
        f"{one.where}: {shlex.join(one.words)}: {said}"
        for one, said in zip(found, benchmark_troubles(found), strict=True)
        if said
    ]
    assert not wrong, "\n".join(wrong)


page = """
Try `regard look` or `regard train TASK …`, and `python benchmarks/tables.py`; `regard` alone is a name.

```console
$ echo hi | regard predict runs/a --beam 5 && regard look "a -b" --to=page.html
--not-an-option of a command
$ TOKEN=$(openssl rand) regard --version   # regard --nor-this
$ regard train data=x \\
    --seed 3
```

<!-- not run: only shown -->
```sh
regard fly --now
```

```
regard is a word here
python benchmarks/tables.py --check
```
"""


def test_commands_are_read_as_a_shell_reads_them() -> None:
    assert [(one.where, list(one.words), one.whole) for one in commands(page, "x.md")] == [
        ("x.md:5", ["regard", "predict", "runs/a", "--beam", "5"], True),
        ("x.md:5", ["regard", "look", "a -b", "--to=page.html"], True),
        ("x.md:5", ["regard", "--version"], True),
        ("x.md:5", ["regard", "train", "data=x", "--seed", "3"], True),
        ("x.md:18", ["python", "benchmarks/tables.py", "--check"], True),
        ("x.md:2", ["regard", "look"], False),
        ("x.md:2", ["regard", "train", "TASK"], False),
        ("x.md:2", ["python", "benchmarks/tables.py"], False),
    ]


@pytest.mark.parametrize(
    ("line", "whole", "said"),
    [
        ("regard fly", False, "no command named 'fly'"),
        ("regard --version", True, ""),
        ("regard --fast", True, "no command named '--fast'"),
        ("regard look", False, ""),
        ("regard look", True, "missing argument"),
        ("regard look RUN --colour red", False, "no such option"),
        ("regard predict RUN --beam wide", True, "invalid value"),
        ("regard train translate encoder.hidden=8 --time 5m", True, ""),
        ("regard train translate encoder.hiden=8", True, "unknown option 'encoder.hiden'"),
        ("regard train translate encoder=recurrnt", True, "unknown encoder"),
        ("regard train translat", False, "unknown task"),
        ("regard train TASK", False, ""),
        ("regard compare entail encoder=bilstm,disan", True, ""),
        ("regard compare entail encoder=bilstm,disn", True, "unknown encoder"),
        ("regard compare entail encoder=bilstm", True, "nothing to compare"),
        ("regard list disan", False, ""),
        ("regard list disn", False, "unknown part 'disn'"),
    ],
)
def test_what_is_wrong_is_found(line: str, whole: bool, said: str) -> None:
    found = trouble(Command("x.md:1", tuple(line.split()), whole))
    assert found == "" if said == "" else said in found


def test_what_is_wrong_with_a_benchmark_is_found() -> None:
    lines = [
        "fly.py",
        "tables.py --check",
        "tables.py --chek",
        "gauge.py --fast",
        "translate.py speed",
        "language.py x y",
        "disan_memory.py D --vec A",
    ]
    words = [("python", *f"benchmarks/{line}".split()) for line in lines]
    said = benchmark_troubles([Command("x.md:1", one, whole) for whole in (False, True) for one in words])
    short, whole = said[: len(words)], said[len(words) :]
    assert short[0] == "there is no such file"
    assert [short[1], short[4]] == ["", ""]
    assert "unrecognized arguments: --chek" in short[2]
    assert short[3] == "it takes no options"
    assert "required: data" in whole[4]
    assert "invalid choice: 'x'" in short[5]
    assert "unrecognized arguments: --vec" in short[6]  # though another is missing


class Seen(dict[str, Any]):
    """Records, and the names of those that were asked for."""

    def __init__(self, records: dict[str, Any]) -> None:
        super().__init__(records)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names |= {name} & self.keys()
        return super().get(name, default)


def script_of(record: dict[str, Any]) -> str:
    return next(word for word in record["command"].split() if word.startswith("benchmarks/"))


def sections(page: str) -> Iterator[tuple[str, list[str]]]:
    """Of each part of a page under a heading: its text and that of the headings above it, without tables, and the
    names of its tables."""
    inside, start = {n for b in blocks(page) for n in range(b.line, b.end)}, 0
    lines = page.splitlines()
    heads = [n for n, line in enumerate(lines, 1) if re.match(r"#+ ", line) and n not in inside]
    above: dict[int, str] = {}
    for end in [*heads[1:], len(lines) + 1]:
        text = "\n".join(lines[start : end - 1]) + "\n"
        level = len(text) - len(text.lstrip("#"))
        above = {depth: other for depth, other in above.items() if depth < level}
        above[level] = tables.marker.sub("", text)
        yield "".join(above.values()), [found[1] for found in tables.marker.finditer(text)]
        start = end - 1


def without_command(page: str, records: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """The tables of a page that do not stand beside the command of each of their records. A table of many benchmarks
    links to records instead, and its section to the page that lists the commands."""
    wrong = []
    for text, names in sections(page):
        for name in names:
            seen = Seen(records)
            made = known[name](seen)
            scripts = {script_of(records[one]) for one in seen.names}
            if len(scripts) > 2:
                linked = "benchmarks/results/" in made and "datasets.md" in text
                wrong += [] if linked else [f"{name}: no link to datasets.md"]
            else:
                wrong += [f"{name}: {one}" for one in sorted(scripts) if f"python {one}" not in text]
    return wrong


def test_each_table_stands_beside_its_command() -> None:
    records = tables.load(root / "benchmarks" / "results")
    pages = [path for path in documents if "<!-- table: " in path.read_text(encoding="utf-8") and path.stem != "LOG"]
    assert len(pages) > 5
    known = {**tables.tables, "commands": lambda results: ""}
    wrong = [(path.name, without_command(path.read_text(encoding="utf-8"), records, known)) for path in pages]
    assert not [one for one in wrong if one[1]]


def test_each_record_is_in_a_document() -> None:
    page = (root / "docs" / "datasets.md").read_text(encoding="utf-8")
    missing = [path.name for path in (root / "benchmarks" / "results").iterdir() if f"results/{path.name})" not in page]
    assert not missing, f"run python benchmarks/tables.py: {', '.join(missing)}"


def test_each_picture_has_its_command() -> None:
    """Drawn by the benchmark that names it, which is told of beside the picture or in docs/datasets.md."""
    listed = (root / "docs" / "datasets.md").read_text(encoding="utf-8")
    for picture in (root / "docs").rglob("*.png"):
        assert f"`{picture.relative_to(root)}`" in listed or f"`{picture.parent.relative_to(root)}/*.png`" in listed


def test_a_table_without_its_command_is_found() -> None:
    records = {name: {"command": f"python benchmarks/{name}.py x"} for name in "abc"}
    known = {
        "one": lambda results: results["a"] and "…",
        "many": lambda results: " ".join(f"benchmarks/results/{n}.json" for n in "abc" if results.get(n)),
    }
    table = "<!-- table: {} -->\n`python benchmarks/a.py` in a table\n<!-- end -->\n"
    one, many = table.format("one"), table.format("many")
    assert without_command(f"# T\n`python benchmarks/a.py x`\n{one}", records, known) == []
    assert without_command(f"# T\n`python benchmarks/a.py x`\n## U\n{one}", records, known) == []
    assert without_command(f"# T\n## U\n`python benchmarks/a.py x`\n## V\n{one}", records, known) == [
        "one: benchmarks/a.py"
    ]
    assert without_command(f"# T\n{one}```sh\n# no heading\npython benchmarks/a.py\n```\n", records, known) == []
    assert without_command(f"# T\nsee [all](datasets.md)\n{many}", records, known) == []
    assert without_command(f"# T\n`python benchmarks/a.py x`\n{many}", records, known) == [
        "many: no link to datasets.md"
    ]
