"""Names of others are letters in Markdown, wherever it is written: rendered, they come back as they were."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from regard.markdown import code, escaped, fenced

render = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render
hostile = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](http://evil/x.png)",
    "<http://evil>",
    "http://evil and www.evil.com and me@evil.com",
    "`code` and ``more``",
    "a|b|c",
    "a\\|b",
    "&lt;b&gt; &#60;",
    "**bold** _thin_ ~~gone~~ # ##",
    "two\nlines\r\n\n# heading",
    "```\n<script>",
    "multi_head exact_match 29.5_test",
    "\u202ereversed \x00\x1b[31m",
    "$x$ \\",
]
tag = re.compile(r"<[^>]*>")


def shown(text: str) -> str:
    """As a reader sees it: one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def heading_and_cell(written: str) -> list[tuple[set[str], str]]:
    """The tags and the text that Markdown makes of it, in a heading and in a table."""
    found = []
    for page in (f"# of {written}", f"| a | b |\n|---|---|\n| {written} | end |"):
        made = render(page)
        text = " ".join(unescape(tag.sub(" ", made)).split())
        found.append(({one.strip("</>").split()[0] for one in tag.findall(made)}, text))
    return found


@pytest.mark.parametrize("text", hostile)
def test_escaped_words_stay_words(text: str) -> None:
    (heading, said), (table, cells) = heading_and_cell(escaped(text))
    assert heading == {"h1"}
    assert said == " ".join(f"of {shown(text)}".split())
    assert table <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert cells == " ".join(f"a b {shown(text)} end".split())


@pytest.mark.parametrize("text", hostile)
def test_code_stays_code(text: str) -> None:
    for tags, said in heading_and_cell(code(text)):
        assert tags <= {"h1", "table", "thead", "tbody", "tr", "th", "td", "code"}
        assert shown(text).replace(" ", "") in said.replace(" ", "").replace("\\|", "|") or "|" in text


@pytest.mark.parametrize("text", hostile)
def test_no_line_ends_a_block(text: str) -> None:
    made = render("\n".join([*fenced("sh", f"look {text}", "end"), "", "after"]))
    assert tag.findall(made) == ["<pre>", '<code class="language-sh">', "</code>", "</pre>", "<p>", "</p>"]


@given(st.text(max_size=30))
def test_any_text_makes_no_tags(text: str) -> None:
    (heading, _), (table, _) = heading_and_cell(escaped(text))
    assert heading == {"h1"}
    assert table <= {"table", "thead", "tbody", "tr", "th", "td"}


def test_ordinary_names_are_written_as_they_are() -> None:
    for name in ("encoder=multi_head dropout=0.1", "runs/my-run 2.txt", "train.de,train.en"):
        assert escaped(name) == name
