"""The page: nothing from outside, nothing run but its own script, tokens only ever data; its bundle is current."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from test_attention_map import hostile, map_of

from regard.look.attention_map import AttentionMap
from regard.look.page import fragment, page
from regard.look.scene import scene
from regard.regions import Token

sources = Path(__file__).resolve().parents[2] / "page" / "src"
namespace = "http://www.w3.org/2000/svg"  # the name of a language, not an address that anything asks


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
    some = {"row_selected": (True, False) * (len(hostile) // 2), "breaks": (3,), "head_names": ("</script>", "<b>")}
    attention_maps = [map_of(hostile, hostile, heads=2, title=h) for h in hostile[:3]]
    return page([*attention_maps, map_of(hostile, hostile, 2, **some)], "</title><script>alert(1)</script>")


def test_hostile_tokens_add_no_element(whole: str) -> None:
    plain = Elements(page([map_of(("a",), ("b",))] * 4, "title"))
    found = Elements(whole)
    assert [name for name, _, _ in found.found] == [name for name, _, _ in plain.found]
    assert [sorted(a) for _, a, _ in found.found] == [sorted(a) for _, a, _ in plain.found]
    assert found.all("title")[0][1] == "</title><script>alert(1)</script>"
    whole.encode()


def test_the_data_cannot_leave_its_element() -> None:
    text = page([map_of(("<!--<script>", "]]>", "&lt;", "</script"), ("\u2028", "\u2029"))], "")
    ((_, data),) = [s for s in Elements(text).all("script") if s[0].get("type") == "application/json"]
    assert not set(data) & set("<>&\u2028\u2029")
    assert json.loads(data)["items"][0]["maps"][0]["rows"][0]["text"] == "<!--<script>"


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(whole: str) -> None:
    elements = Elements(whole)
    (policy,) = [a["content"] for a, _ in elements.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    ((_, style),) = elements.all("style")
    ((_, script),) = [s for s in elements.all("script") if "type" not in s[0]]
    assert rules == {
        "default-src": "'none'",
        "img-src": "data:",
        "media-src": "data:",
        "style-src": sha(style),
        "script-src": sha(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_only_a_live_page_may_ask_and_only_where_it_came_from() -> None:
    (policy,) = re.findall('default-src[^"]*', page(scene([], [], live="api")))
    assert "; connect-src 'self'; " in policy
    assert "connect-src" not in page(scene([], []))


def test_nothing_is_asked_from_outside_and_no_markup_is_made_from_text(whole: str) -> None:
    for attributes in (a for _, a, _ in Elements(whole).found):
        assert not {"src", "href", "style", "srcset", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    rest = whole.replace(namespace, "", 1)
    assert not re.search(r"https?://|url\(|@import|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(", rest)
    assert not re.search(r"new Function|setAttribute\(\"style", rest)


def test_titles_are_text(whole: str) -> None:
    assert data_of(page([], "none"))["items"] == []
    assert data_of(page([], "\x1b<b>"))["title"] == "␛<b>"
    assert Elements(page([], "")).all("title")[0][1] == "regard"
    assert Elements(page(scene([], [], "dates & more"))).all("title")[0][1] == "dates & more"


def test_the_bundle_is_built_from_the_sources_beside_it() -> None:
    if not sources.is_dir():
        pytest.skip("the TypeScript is not here: an installed package has only what was built from it")
    whole = hashlib.sha256()
    for path in sorted(sources.glob("*.ts"), key=lambda path: path.name):
        whole.update(f"{path.name}\0{path.read_text(encoding='utf-8')}\0".encode())
    first = files("regard.look").joinpath("page.js").read_text(encoding="utf-8").split("\n")[0]
    assert first == f"// built from page/src, sha256 {whole.hexdigest()}", "cd page && npm ci && npm run build"


def test_the_script_cannot_leave_its_element() -> None:
    for name in ("page.js", "page.css"):
        assert not re.search("</|<!--", files("regard.look").joinpath(name).read_text(encoding="utf-8"))


def test_a_fragment_is_the_page_in_a_frame_without_rights() -> None:
    attention_map = map_of(hostile, hostile, title='"><script>alert(1)</script>')
    text = fragment(attention_map)
    ((tag, attributes, _),) = Elements(text).found
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts allow-downloads"
    assert attributes["srcdoc"] == page([attention_map], attention_map.title)
    assert text.count("<") == 2  # the frame opens and closes, all else is escaped
    assert html.unescape(text.split('srcdoc="')[1].rsplit('"', 1)[0]) == page([attention_map], attention_map.title)
    assert attention_map._repr_html_() == text


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 2)])
def test_nothing_to_see(shape: tuple[int, int]) -> None:
    attention_map = AttentionMap(np.zeros(shape), (Token("a"),) * shape[0], (Token("b"),) * shape[1])
    assert data_of(page([attention_map], ""))["items"][0]["maps"][0]["heads"] == [[]]
    assert "<iframe" in fragment(attention_map)
