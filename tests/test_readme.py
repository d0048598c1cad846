"""What the README says is true: its Python runs and prints what it shows. (Its commands: test_documents.py.)

- Every ```python block runs, in order, in one namespace and an empty folder. Where a ```text block follows
  at once, the code must print exactly that; `…` stands for anything within a line, alone on a line for any lines.
- `<!-- not run: why -->` above a block leaves it out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.find import names

readme = Path(__file__).resolve().parent.parent / "README.md"


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of its first line of text, counted from 1
    above: str  # the nearest line above that is not empty
    end: int  # of its closing fence

    @property
    def runs(self) -> bool:
        return not re.fullmatch(r"<!-- not run: \S.*-->", self.above)


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    lines = page.splitlines()
    start, language, fence, above = 0, "", "", ""
    for number, line in enumerate(lines, start=1):
        opening = re.fullmatch(r"(`{3,}) *([\w+-]*).*", line.strip())
        if not fence and opening:
            start, fence, language = number + 1, opening[1], opening[2]
            above = next((earlier.strip() for earlier in reversed(lines[: number - 1]) if earlier.strip()), "")
        elif fence and line.strip() == fence:
            found.append(Block(language, "\n".join(lines[start - 1 : number - 1]) + "\n", start, above, number))
            fence = ""
    assert not fence, f"README.md:{start - 1}: a block is never closed"
    return found


def shown(page: str) -> Iterator[tuple[Block, Block | None]]:
    """Each Python block that runs, with the text block right after it that shows what it prints."""
    found = blocks(page)
    lines = page.splitlines()
    for block, after in zip(found, [*found[1:], None], strict=False):
        if block.language == "python" and block.runs:
            follows = after is not None and not "".join(lines[block.end : after.line - 2]).strip()
            yield block, after if follows and after and after.language == "text" else None


def matches(printed: str, expected: str) -> bool:
    """Equal line by line, spaces at the ends of lines aside, where `…` stands for anything."""
    pattern = "".join(
        r"(?:.*\n)*"
        if line.strip() == "…"
        else ".*".join(re.escape(piece) for piece in line.rstrip().split("…")) + r"\n"
        for line in expected.rstrip().splitlines()
    )
    text = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, text) is not None


def run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the Python of a page as a reader would, block after block."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block, output in shown(page):
        capsys.readouterr()
        # Empty lines above, so that a traceback points at the line of the README.
        exec(compile("\n" * (block.line - 1) + block.text, str(readme), "exec"), namespace)
        printed = capsys.readouterr().out
        if output is not None:
            assert matches(printed, output.text), (
                f"README.md:{block.line} prints\n{printed}\nand README.md:{output.line} shows\n{output.text}"
            )


def test_the_python_of_the_readme_runs_and_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(readme.read_text(encoding="utf-8"), capsys)


page = """
```python
x = 2
```

words between

```text
not what it prints: words stand between
```

```python
print("x is", x)
```

```text
x is 2
```

<!-- not run: needs a GPU -->
```python
raise SystemExit
```

"""


def test_the_architecture_names_every_package_and_part() -> None:
    page = readme.read_text(encoding="utf-8")
    [block] = [one for one in blocks(page[page.index("## Architecture") :]) if one.text.startswith("src/regard/")]
    source = readme.parent / "src" / "regard"
    rooms = [one.name for one in source.iterdir() if one.is_dir() and (one / "__init__.py").exists()]
    listed = ("attend.score", "attend.bias", "attend.normalizer", "attend.interact", "text", "fields", "fields.embed")
    listed += ("encode", "pool", "predict.generate", "predict.language", "networks.recommend", "search", "tasks")
    wanted = [*rooms, *(name for folder in listed for name in names(folder))]
    assert [name for name in wanted if not re.search(rf"\b{name}\b", block.text)] == []


def test_blocks_run_in_one_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    run(page, capsys)


def test_what_is_shown_must_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match=r"README.md:13 prints\s+x is 2"):
        run(page.replace("x is 2", "x is 3"), capsys)
    with pytest.raises(SystemExit):
        run(page.replace("<!-- not run: needs a GPU -->", ""), capsys)


def test_a_block_never_closed_is_told() -> None:
    with pytest.raises(AssertionError, match="never closed"):
        blocks("```python\nx = 1\n")


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a\nb\n", "a\nb", True),
        ("a \nb\n\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "a\n", False),
        ("loss 0.123 after 5 s\n", "loss … after … s\n", True),
        ("loss 0.123 after 5 m\n", "loss … after … s\n", False),
        ("loss 1\nafter 2 s\n", "loss … s\n", False),
        ("a\n1\n2\nz\n", "a\n…\nz\n", True),
        ("a\nz\n", "a\n…\nz\n", True),
        ("(.*)\n", "(.*)\n", True),
        ("x\n", ".\n", False),
        ("", "", True),
    ],
)
def test_an_ellipsis_stands_for_anything(printed: str, expected: str, same: bool) -> None:
    assert matches(printed, expected) is same
