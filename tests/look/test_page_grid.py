"""The page of a whole model in a browser: all heads, a search, one enlarged, saved; its size for a large one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from any_model import Model, Pieces
from browser import launched, visit

from regard.look.models import of


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as started:
        yield started


def test_heads_are_searched_enlarged_and_saved(browser: Any, tmp_path: Path) -> None:
    text = "the <b>cat</b> saw the other"
    path = of(Model(), Pieces(), text, title="small").save(tmp_path / "look.html")
    with visit(browser, path) as one:
        heads = one.page.locator(".grid-head")
        heads.first.wait_for()
        assert heads.count() == 6
        assert "2 layers (down) × 3 heads (across)" in one.page.locator(".view .note").inner_text()
        one.page.locator("[data-key=find]").select_option(label="previous token")
        best = one.page.locator("[data-key^=best-]").first
        assert best.inner_text() == "layer 1, head 1: 100%"
        assert float(heads.first.evaluate("one => one.style.opacity")) == 1.0
        svg = one.saved("SVG").decode()
        assert svg.startswith("<svg")
        assert one.saved("PNG").startswith(b"\x89PNG")
        best.click()
        one.page.locator(".is-matrix canvas").first.wait_for()
        assert one.page.locator("[data-key=panel]").input_value() == "2"
        assert "<b>ca" in one.page.locator("figure h2").inner_text()
        csv = one.saved("CSV").decode("utf-8-sig").splitlines()
        assert csv[2].split(",")[1:3] == ["1", "0"]  # the second token looks at the first
        one.page.locator("[data-key=panel]").select_option(label="rollout")
        one.page.locator(".is-matrix canvas").first.wait_for()
        one.page.locator(".stage").hover(position={"x": 120, "y": 120})
        one.page.locator("#said", has_text="%").wait_for()


def test_a_large_model_fits_in_three_megabytes(browser: Any, tmp_path: Path) -> None:
    text = " ".join(f"w{number}" for number in range(126))
    path = of(Model(layers=12, heads=12), Pieces(), text).save(tmp_path / "look.html")
    assert path.stat().st_size <= 3_000_000
    with visit(browser, path) as one:
        one.page.locator(".grid-head").nth(143).wait_for()


def test_a_damaged_file_says_so(browser: Any, tmp_path: Path) -> None:
    path = of(Model(), Pieces(), "a b").save(tmp_path / "look.html")
    whole = path.read_text()
    begin = whole.index('"packed":["') + len('"packed":["')
    path.write_text(whole[:begin] + "AAAA" + whole[begin + 4 :])
    with visit(browser, path) as one:
        one.page.get_by_text("cannot be read").wait_for()
