"""The page of an error report: all of it is in one file, and text of the user's stays text."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from regard.error_analysis.page import LONGEST, page
from regard.fields.image import Image
from regard.fields.text import Text

hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</dd></html>"
png = b"\x89PNG"


def report(text: str = "a dog") -> dict[str, Any]:
    mean = {"mean": 0.5, "low": 0.1, "high": 0.9}
    return {
        "task": "classify", "run": f"runs/{text}", "data": text, "examples": 2,
        "measures": {"accuracy": 0.5, "signature": text},
        "scores": {"accuracy": {"better": "higher"}, "loss": {"better": "lower"}},
        "by_length": [{"from": 1, "to": 2, "examples": 2, "scores": {"accuracy": mean}}],
        "by_label": [{"label": text, "examples": 2, "precision": None, "recall": 0.5, "f1": 0.5, "taken_for": text}],
        "missed": [{"word": text, "missed": 1, "of": 2}], "added": [{"word": text, "added": 1, "of": 2}],
        "residuals": [],
        "worst": [{"where": text, "inputs": [text], "target": text, "alternatives": [text], "answer": f"not {text}",
                   "length": 2, "scores": {"accuracy": 0.0, "loss": None}}],
    }  # fmt: skip


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_all_of_it_is_there() -> None:
    text = page(report(), {"confusion": png, "by_length": png}, {"input": Text(end=False)})
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["Labels", "Residuals", "Input length", "Words", "Worst examples"]
    assert "by accuracy (lowest first), then by loss (highest first)" in text
    assert '<dd dir="auto" class=answer>not a dog</dd>' in text
    assert text.count("data:image/png;base64,iVBORw==") == 2


def test_it_needs_nothing_else_and_runs_nothing() -> None:
    tags = Tags(page(report(hostile), {"confusion": png}, {"input": Text(end=False)})).tags
    assert {tag for tag, _ in tags}.isdisjoint({"script", "link", "iframe", "object", "base", "form", "a"})
    for tag, attributes in tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert str(attributes.get("src", "data:")).startswith("data:")
    assert ("meta", "default-src 'none'; img-src data:; style-src 'unsafe-inline'") in [
        (tag, attributes.get("content")) for tag, attributes in tags
    ]


def test_text_is_escaped_and_cut() -> None:
    text = page(report(hostile), {}, {"input": Text(end=False)})
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 10
    long = page(report("x" * (LONGEST + 1)), {}, {"input": Text(end=False)})
    assert f'<dd dir="auto">{"x" * LONGEST}…</dd>' in long


def test_pictures_are_shown(tmp_path: Path) -> None:
    from PIL import Image as Pillow

    Pillow.new("RGB", (8, 8), "red").save(tmp_path / "red.png")
    text = page(report(str(tmp_path / "red.png")), {}, {"input": Image(size=8)})
    assert re.search(r'red\.png<img src="data:image/png;base64,[^"]+" alt="red\.png">', text)


@pytest.mark.sweep
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium on this machine")
def test_it_fits_a_phone(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    path = tmp_path / "page.html"
    path.write_text(page(report("w" * 300), {}, {"input": Text(end=False)}))
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 360, "height": 700})
        shown.goto(path.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360
        browser.close()
