"""The page: nothing from outside, nothing run but its own script, tokens only ever data."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from test_gaze import gaze_of, hostile

from regard.look.gaze import Gaze, visible
from regard.look.page import fragment, page
from regard.types import Token


class Elements(HTMLParser):
    """What a browser would see: elements with their attributes, and the text inside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


def data_of(text: str) -> dict:
    ((_, data),) = [s for s in Elements(text).all("script") if s[0].get("type") == "application/json"]
    return json.loads(data)


def sha(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@pytest.fixture(scope="module")
def whole() -> str:
    some = {"row_chosen": (True, False) * (len(hostile) // 2), "breaks": (3,), "panels": ("</script>", "<b>")}
    gazes = [gaze_of(hostile, hostile, heads=2, title=h) for h in hostile[:3]]
    return page([*gazes, gaze_of(hostile, hostile, 2, **some)], "</title><script>alert(1)</script>")


def test_hostile_tokens_add_no_element(whole: str) -> None:
    plain = Elements(page([gaze_of(("a",), ("b",))] * 4, "title"))
    found = Elements(whole)
    assert [name for name, _, _ in found.found] == [name for name, _, _ in plain.found]
    assert [sorted(a) for _, a, _ in found.found] == [sorted(a) for _, a, _ in plain.found]
    assert found.all("title")[0][1] == "</title><script>alert(1)</script>"
    whole.encode()


def test_the_data_cannot_leave_its_element() -> None:
    text = page([gaze_of(("<!--<script>", "]]>", "&lt;", "</script"), ("\u2028", "\u2029"))], "")
    ((_, data),) = [s for s in Elements(text).all("script") if s[0].get("type") == "application/json"]
    assert not set(data) & set("<>&\u2028\u2029")
    assert json.loads(data)["gazes"][0]["rows"][0]["text"] == "<!--<script>"


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(whole: str) -> None:
    elements = Elements(whole)
    (policy,) = [a["content"] for a, _ in elements.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    ((_, style),) = elements.all("style")
    ((_, script),) = [s for s in elements.all("script") if "type" not in s[0]]
    assert rules == {
        "default-src": "'none'",
        "style-src": sha(style),
        "script-src": sha(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_is_asked_from_outside_and_no_markup_is_made_from_text(whole: str) -> None:
    for attributes in (a for _, a, _ in Elements(whole).found):
        assert not {"src", "href", "style", "srcset", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"https?://|url\(|@import|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", whole)


def test_the_data_of_a_gaze_by_hand() -> None:
    weights = np.array([[[0.25, 0.75]], [[0.75, 0.25]]])
    gaze = Gaze(weights, (Token("5"),), (Token("a"), Token(" ")), "date", links=((0, 1),))
    assert data_of(page([gaze], "all"))["gazes"] == [
        {
            "title": "date",
            "rows": [{"text": "5", "letter": True, "space": False, "out": False}],
            "columns": [
                {"text": "a", "letter": True, "space": False, "out": False},
                {"text": "␣", "letter": True, "space": True, "out": False},
            ],
            "directions": {"rows": "ltr", "columns": "ltr"},
            "names": ["mean", "head 1", "head 2"],
            "heads": [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]],
            "top": 0.75,
            "links": [[0, 1]],
            "breaks": [],
        }
    ]


def test_choices_names_and_breaks_by_hand() -> None:
    gaze = gaze_of(("5",), ("a", " "), 2, panels=("forward", "\x1b<b>"), column_chosen=(True, False), breaks=(1,))
    (data,) = data_of(page([gaze], "all"))["gazes"]
    assert data["names"] == ["mean", "forward", "␛<b>"]
    assert data["breaks"] == [1]
    assert data["rows"] == [{"text": "5", "letter": True, "space": False, "out": False}]
    assert data["columns"][1] == {"text": "(␣)", "letter": False, "space": True, "out": True}


def test_tokens_are_shown_visibly_and_in_bounds(whole: str) -> None:
    shown = [token["text"] for token in data_of(whole)["gazes"][0]["rows"]]
    assert shown == ["x" * 199 + "…" if text == "x" * 10_000 else visible(text) for text in hostile]


def test_small_weights_keep_their_digits() -> None:
    gaze = Gaze(np.array([[1.2344e-7, 5e-8]]), (Token("a"),), (Token("b"), Token("c")))
    assert data_of(page([gaze], ""))["gazes"][0]["heads"] == [[1.234e-07, 5e-08]]
    for top in (5e-324, 1e300, 0.0):
        data_of(page([Gaze(np.array([[top]]), (Token("a"),), (Token("b"),))], ""))


def test_lines_begin_where_their_script_begins() -> None:
    gaze = gaze_of(("1", "كتاب"), ("-", "book"))
    assert data_of(page([gaze], ""))["gazes"][0]["directions"] == {"rows": "rtl", "columns": "ltr"}


def test_one_gaze_needs_one_heading() -> None:
    one = gaze_of(("a",), ("b",), title="date")
    assert not Elements(page([one], "date")).all("h1")
    assert Elements(page([one], "dates")).all("h1")[0][1] == "dates"
    assert data_of(page([], "none")) == {"gazes": []}


def test_a_fragment_is_the_page_in_a_frame_without_rights() -> None:
    gaze = gaze_of(hostile, hostile, title='"><script>alert(1)</script>')
    text = fragment(gaze)
    ((tag, attributes, _),) = Elements(text).found
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == page([gaze], gaze.title)
    assert text.count("<") == 2  # the frame opens and closes, all else is escaped
    assert html.unescape(text.split('srcdoc="')[1].rsplit('"', 1)[0]) == page([gaze], gaze.title)
    assert gaze._repr_html_() == text


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 2)])
def test_nothing_to_see(shape: tuple[int, int]) -> None:
    gaze = Gaze(np.zeros(shape), (Token("a"),) * shape[0], (Token("b"),) * shape[1])
    assert data_of(page([gaze], ""))["gazes"][0]["heads"] == [[]]
    assert "<iframe" in fragment(gaze)
