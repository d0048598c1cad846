"""A hundred tokens that want to be more than text, through everything that shows them: none gets further."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import launched, role, visit

from regard.look.attention_map import AttentionMap
from regard.look.heatmap import render
from regard.look.page import fragment, page
from regard.look.scene import item, scene
from regard.look.terminal import show
from regard.regions import Token
from regard.types import Prediction, Step

act = "document.title='got'"
markup = [
    f"<script>{act}</script>",
    f"</script><script>{act}</script>",
    f"</SCRIPT ><svg onload={act}>",
    "<!--<script>",
    "-->",
    "]]>",
    "<![CDATA[",
    f'"><img src=x onerror={act}>',
    f"'><img src=x onerror={act}>",
    f"<svg><animate onbegin={act} attributeName=x dur=1s>",
    f"<svg/onload={act}>",
    f"<body onpageshow={act}>",
    f"<details open ontoggle={act}>",
    f"<iframe srcdoc='<script>parent.{act}</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    "<object data=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<form action=https://evil.example><input autofocus>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<style>@import url(https://evil.example/x.css);body{display:none}</style>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<textarea></textarea><script>alert(1)</script>",
    "<title></title><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "&amp;",
]
others = [
    *("javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "${alert(1)}", "{{alert(1)}}"),
    *("$style", "$$", "%s%n", "\\u003cscript\\u003e", "\\", '"', "'", "`", "__proto__", "constructor", "toString"),
    *("url(https://evil.example/x)", "expression(alert(1))", "--w: 1", "}body{display:none}", ";", "/*", "*/", "//"),
    *("=1+1", "+SUM(A1)", "-1+1", "@SUM(A1)", "\t=1", '=HYPERLINK("https://evil.example")', "a,b", 'a"b', "a\r\nb"),
    *("\0", "\x01", "\x07", "\b", "\n", "\r", "\t", "\x0b", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x85", "\x9b31m"),
    *("\u202e", "\u202etxt.exe", "\u2066\u2067", "\u200f", "\u061c", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"),
    *("\u2028", "\u2029", "\ud800", "\udfff", "\ud83d", "\uffff", "\ufffe", "\ufdd0", "\U000e0041", "\U0010ffff"),
    *(
        "",
        " ",
        "\u3000",
        "\u0301",
        "a" + "\u0301" * 5000,
        "Z\u0353\u0301" * 300,
        "x" * 1_000_000,
        "👨‍👩‍👧",
        "مرحبا",
        "日本",
    ),
]
hostile = tuple(markup + others)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def attention_map(title: str = "") -> AttentionMap:
    """Every one of them in a row, in a column, in the name of a head, in the title."""
    tokens = tuple(map(Token, hostile))
    weights = np.random.default_rng(0).dirichlet(np.full(len(hostile), 0.02), (2, len(hostile)))
    return AttentionMap(weights, tokens, tokens, title, head_names=(markup[1], others[15]), breaks=(4,))


def scenery() -> dict[str, Any]:
    """Every one of them in an input, an answer, a step, a name, a role and a badge too."""
    items = []
    for text in hostile:
        step = (Step((text,), -1.0, -1, False), Step((text, "x"), -2.0, -1, True))
        small = AttentionMap(
            np.ones((2, 2)) / 2, (Token(text, 0, 1), Token("x", 1, 2)), (Token("y"), Token(text)), text
        )
        items.append(
            item(0, (text,), Prediction(text, -1.0, small, text, (Prediction(text, -2.0),), steps=(step, step)))
        )
    badge = {"verdict": markup[0], "level": markup[1], markup[2]: {markup[3]: markup[4]}, "__proto__": 3}
    name = markup[7]
    return scene(
        items, [{"name": name, "task": name, "roles": [role(name)], "searches": True, "badge": badge}], markup[0]
    )


def test_there_are_a_hundred() -> None:
    assert len(set(hostile)) == len(hostile) >= 100


def test_json_keeps_them_exactly() -> None:
    text = attention_map("".join(hostile[:60])).to_json()
    assert AttentionMap.from_json(text) == attention_map("".join(hostile[:60]))
    assert text.isprintable()


def test_the_terminal_obeys_none() -> None:
    for text in hostile:
        one = AttentionMap(np.ones((1, 1)), (Token(text),), (Token(text),), text)
        for colour in (False, True):
            lines = show(one, 60, colour)
            rest = lines if not colour else lines.replace("\x1b[", "")
            assert not set(rest) & set("\x1b\0\x07\b\r\x9b\u202e\u2066\u2028\ud800"), text[:50]
            assert all(len(line) < 2_000 for line in lines.splitlines())


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_pictures_hold_them_as_text(kind: str) -> None:
    picture = render(attention_map("".join(hostile[:40])), kind)
    assert b"<script" not in picture
    if kind == "svg":
        names = {element.tag.rpartition("}")[2] for element in ET.fromstring(picture).iter()}
        assert not names & {"script", "img", "iframe", "foreignObject", "a", "animate"}


def still(tab: Any, title: str) -> None:
    """Nothing of it ran and nothing of it became an element."""
    assert tab.title() == title
    odd = "script, style, link, meta, title, base, noscript, img, iframe, object, embed, math, template, a, animate"
    assert tab.locator("main").locator(odd).count() == 0
    names = tab.evaluate("[...document.querySelectorAll('main *')].flatMap(e => e.getAttributeNames())")
    assert not [name for name in names if name.startswith("on")]
    assert tab.evaluate("window.getComputedStyle(document.body).display") == "block"


@pytest.mark.sweep
def test_the_page_obeys_none_in_any_view(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(page([attention_map(markup[0])], markup[1]), encoding="utf-8")
    for view in ("head_names", "matrix", "arcs", "text", "steps"):
        with visit(browser, path, f"view={view}&pin=r1") as one:
            still(one.page, markup[1])
            for kind in ("PNG", "SVG", "CSV"):
                one.saved(kind)
            if view == "text":
                words = one.page.locator('[data-key="rows-0"], [data-key="rows-1"]').all_text_contents()
                assert words == [markup[0], markup[1]]
                data = json.loads(one.saved("JSON"))
                assert [token["text"] for token in data["maps"][0]["rows"]] == list(hostile)
                assert one.page.evaluate("document.documentElement.scrollWidth") <= 1200


@pytest.mark.sweep
def test_names_answers_and_steps_are_text_too(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "names.html"
    whole = scenery()
    path.write_text(page(whole), encoding="utf-8")
    with visit(browser, path, "view=steps") as one:
        one.page.locator(".badge summary").click()
        for number in range(0, len(hostile), 3):
            one.page.evaluate(f"location.hash = 'item={number}&with={(number + 1) % len(hostile)}&view=steps'")
            one.page.locator(".changes").wait_for()
        still(one.page, markup[0])
        assert json.loads(one.saved("JSON"))["inputs"] == [hostile[number]]


@pytest.mark.sweep
def test_a_frame_of_it_in_a_notebook_obeys_none(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    head = "<!DOCTYPE html><meta charset=utf-8><title>mine</title><p>before"
    path.write_text(head + fragment(attention_map(markup[7])), encoding="utf-8")
    with visit(browser, path) as one:
        inner = one.page.frame_locator("iframe")
        inner.locator(".panel").nth(1).click()
        inner.locator(".stage").wait_for()
        inner.get_by_role("button", name="Text", exact=True).click()
        assert inner.locator('[data-key="rows-0"]').text_content() == markup[0]
        assert one.page.title() == "mine"
        assert json.loads(one.saved_in(inner, "JSON"))["maps"][0]["rows"][1]["text"] == markup[1]


@pytest.mark.parametrize("text", [one for one in markup if "/" not in one][:6])
def test_file_names_are_only_names(browser: Any, tmp_path: Path, text: str) -> None:
    path = AttentionMap(np.ones((1, 1)), (Token("a"),), (Token("b"),), text).save(tmp_path / f"{text}.html")
    with visit(browser, path) as one:
        assert one.page.locator("h2").text_content() == text
        still(one.page, text)
