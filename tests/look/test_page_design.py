"""What a person meets first: a greeting, examples to try, names on the axes, honest colours, and a page on a phone."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Visit, launched, location, role, visit
from test_page_live import Service, address

from regard.look.attention_map import AttentionMap
from regard.look.page import page
from regard.look.scene import item, scene
from regard.regions import Token
from regard.types import Prediction

phone = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
letters = "abcdefghijklmnopqrstuvwx"
run = {"name": "r", "task": "translate", "roles": [role("source")], "searches": True, "badge": None}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 short columns with an even row, a peaked one and one in between; a tagged text; a single even row."""
    weights = np.full((3, 24), 1 / 24)
    weights[1], weights[2] = 0.1 / 23, 0.4 / 22
    weights[1, 3], weights[2, [0, 20]] = 0.9, 0.3
    columns = tuple(Token(letter, i, i + 1) for i, letter in enumerate(letters))
    rows = tuple(map(Token, ("even", "peak", "both")))
    look = AttentionMap(weights, rows, columns, letters, axes=("target", "source"))
    even = AttentionMap(weights[:1], rows[:1], columns, letters, axes=("label", "input"))
    words = "on 5 May"
    items = [
        item(0, (letters,), Prediction("even peak both", -1.0, look, letters)),
        item(1, (words,), Prediction("O B-day B-month", -1.0)),
        item(0, (letters,), Prediction("even", -1.0, even, letters)),
    ]
    tagger = {**run, "name": "t", "task": "tag", "searches": False}
    path = tmp_path_factory.mktemp("design") / "page.html"
    path.write_text(page(scene(items, [run, tagger], "design")), encoding="utf-8")
    return path


def drawn(one: Visit) -> list[tuple[str, dict[str, str]]]:
    root = ET.fromstring(one.saved("SVG"))
    return [("".join(element.itertext()), element.attrib) for element in root.iter()]


def test_short_columns_keep_their_figures_and_an_even_row_is_even(browser: Any, shown: Path) -> None:
    with visit(browser, shown, "view=matrix", viewport={"width": 760, "height": 700}) as one:
        found = drawn(one)
        texts = [text for text, _ in found]
        assert texts.count("30") == 2
        assert "90" in texts
        assert {"target ↓", "source →"} <= set(texts)
        assert {letters, "→ even peak both", "weight: 0"} <= set(texts)  # the input, the answer, the scale
        assert "90%, the largest weight" in one.page.locator(".legend").text_content()
        one.page.locator('[data-key="scale"]').select_option("row")
        fills = [at["fill"] for _, at in drawn(one) if at.get("width") == at.get("height") == "23"]
        even = max(set(fills), key=fills.count)
        assert fills.count(even) >= 24
        light = int(even[1:3], 16)
        assert 11 + 60 < light < 255 - 60  # half as dark as can be, in blue from 255 to 11
        one.page.locator('[data-key="scale"]').select_option("full")
        assert "0100%" in one.page.locator(".legend").text_content()


def test_a_single_even_row_says_what_its_colours_mean(browser: Any, shown: Path) -> None:
    with visit(browser, shown, "item=2") as one:
        heats = one.page.locator(".token").evaluate_all("all => all.map(e => e.dataset.heat)")
        assert set(heats) == {"0.50"}
        assert "twice an even share" in one.page.locator(".legend").text_content()


def test_the_text_is_coloured_before_anybody_points(browser: Any, shown: Path) -> None:
    with visit(browser, shown, "view=text") as one:
        tab = one.page
        assert tab.locator(".side").all_text_contents() == ["source", "target"]
        assert tab.locator(".token.chosen").text_content() == "even"
        assert tab.locator('[data-key^="columns"]').evaluate_all("all => all.every(e => e.style.backgroundColor)")
        tab.locator('[data-key="rows-1"]').hover()
        narrow = tab.locator('[data-key="columns-3"]')
        assert narrow.get_attribute("data-share") == "90"
        assert narrow.evaluate("e => e.scrollWidth <= e.clientWidth")  # under a short word too
        tab.mouse.move(2, 2)
        assert tab.locator(".token.chosen").text_content() == "even"


def test_an_answer_without_weights_is_still_an_answer(browser: Any, shown: Path) -> None:
    with visit(browser, shown, "item=1") as one:
        assert one.page.locator(".tagged").all_text_contents() == ["onO", "5day", "Maymonth"]
        assert "no attention over its input" in one.page.locator("figure").text_content()


def test_on_a_phone_the_answer_comes_first_and_labels_stay(browser: Any, shown: Path) -> None:
    with visit(browser, shown, "view=matrix", **phone) as one:
        tab = one.page
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        places = [tab.locator(name).first.bounding_box()["y"] for name in (".answer", ".tabs", ".fold", ".scroll")]
        assert places == sorted(places)
        assert places[0] < 120
        assert not tab.locator('[data-key="scale"]').is_visible()
        tab.locator(".fold summary").tap()
        assert tab.locator('[data-key="scale"]').is_visible()
        tab.locator('[data-key="scale"]').select_option("row")
        assert tab.locator('[data-key="scale"]').is_visible()  # it stays open
        pane = tab.locator(".pane").nth(1)  # the labels of the rows
        before = pane.bounding_box()["x"]
        tab.evaluate("document.querySelector('.scroll').scrollLeft = 200")
        assert tab.locator(".stage").bounding_box()["x"] < before - 150
        assert abs(pane.bounding_box()["x"] - before) < 2
        box = pane.bounding_box()
        tab.touchscreen.tap(box["x"] + 10, box["y"] + box["height"] - 14)  # a label that lies over other cells
        assert "“both”" in tab.locator(".said").text_content()
        assert "pin=r2" in location(tab)


@pytest.mark.parametrize("view", ["matrix", "arcs"])
def test_a_pinned_word_opens_with_what_it_attends_to_in_sight(browser: Any, shown: Path, view: str) -> None:
    with visit(browser, shown, f"view={view}&pin=c20", **phone) as one:  # column 20 of 24
        assert one.page.evaluate("document.querySelector('.scroll').scrollLeft") > 100


@pytest.mark.parametrize("view", ["matrix", "text", "steps"])
def test_everything_to_press_is_large_enough(browser: Any, shown: Path, view: str) -> None:
    with visit(browser, shown, f"view={view}", **phone) as one:
        small = """() => [...document.querySelectorAll('button, select, summary, .token[role=button], input')]
            .map(e => [e.textContent, e.getBoundingClientRect()])
            .filter(([, b]) => b.width && (b.width < 24 || b.height < 24)).map(([text]) => text)"""
        one.page.locator(".fold summary").tap()
        assert [text for text in one.page.evaluate(small) if text] == []


def test_what_stands_on_a_colour_can_be_read(browser: Any, shown: Path) -> None:
    """At least 4.5 to 1, in both themes."""
    ratio = """() => {
        const part = n => (n /= 255, n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
        const light = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(part)
            .reduce((sum, n, i) => sum + n * [0.2126, 0.7152, 0.0722][i], 0);
        return Math.min(...[...document.querySelectorAll('.token[data-share]')].map(getComputedStyle).map(style => {
            const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
        }));
    }"""
    for theme in ("light", "dark"):
        with visit(browser, shown, "view=text", color_scheme=theme) as one:
            worst = []
            for row in range(3):
                one.page.locator(f'[data-key="rows-{row}"]').hover()
                worst.append(one.page.evaluate(ratio))
            assert min(worst) >= 4.5


class Greeting(Service):
    """A service with one run, which has examples; one of them looks like markup."""

    about: dict[str, Any] | None = None

    def _answer(self, route: Any) -> None:
        if route.request.url.startswith(f"{address}/api"):
            return super()._answer(route)
        known = {**run, "does": "Translates a text.", "about": self.about}
        html = page(scene([], [known], "regard", live="api"))
        return route.fulfill(body=html, content_type="text/html; charset=utf-8")


@pytest.fixture
def service(browser: Any) -> Iterator[Greeting]:
    one = Greeting(browser)
    one.about = {"data": "builtin:dates", "examples": 2900, "inputs": [["the cat"], ["<b>x</b>"], ["a dog"]]}
    yield one
    one.close()


def test_the_page_greets_and_offers_examples(service: Greeting) -> None:
    tab = service.open()
    greeting = tab.locator(".greeting").text_content()
    assert greeting == "rTranslates a text. Trained on dates (built in), 2,900 examples."
    assert not tab.get_by_label("Run").is_visible()  # there is but one
    assert tab.get_by_label("source").is_visible()  # the field has a name
    assert tab.locator(".try").all_text_contents() == ["the cat", "<b>x</b>", "a dog"]
    assert tab.locator(".try b").count() == 0
    tab.locator(".try").first.click()
    tab.locator("strong", has_text="THE CAT").wait_for()
    assert tab.locator("textarea").input_value() == "the cat"
    assert service.asked[0]["inputs"] == [["the cat"]]


def test_on_a_phone_the_answer_takes_the_place_of_the_form(browser: Any, service: Greeting) -> None:
    tab = service.page
    tab.set_viewport_size({"width": 360, "height": 640})
    service.open()
    tab.locator(".try").last.click()
    tab.locator("strong", has_text="A DOG").wait_for()
    assert not tab.locator("textarea").is_visible()
    assert tab.evaluate("document.activeElement.className") == "answer"
    assert tab.locator(".answer").bounding_box()["y"] < 200
    tab.locator("summary", has_text="Ask something else").click()
    assert tab.locator("textarea").is_visible()
    tab.set_viewport_size({"width": 1000, "height": 640})
    assert tab.locator("textarea").is_visible()


def test_a_run_that_kept_nothing_only_says_what_it_does(service: Greeting) -> None:
    service.about = None
    tab = service.open()
    assert tab.locator(".greeting p").text_content() == "Translates a text."
    assert not tab.locator(".tries").is_visible()
