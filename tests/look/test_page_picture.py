"""Weights over a picture on the page: where they are, what is said of them, and nothing but a picture becomes one."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import launched, location, visit
from PIL import Image
from test_attention_map import dot, in_picture
from test_page_live import Service

from regard.look.attention_map import AttentionMap
from regard.look.page import fragment, page
from regard.look.scene import item, of_maps
from regard.regions import Token
from regard.types import Prediction


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def said(tab: Any) -> str:
    return str(tab.locator(".said").first.text_content()).replace("\u2068", "").replace("\u2069", "")


def test_boxes_say_their_weights(browser: Any, tmp_path: Path) -> None:
    with visit(browser, in_picture(("cat", "dog"), title="two").save(tmp_path / "two.html")) as one:
        tab = one.page
        assert tab.locator(".tabs button").all_text_contents() == ["Picture", "Matrix"]
        assert tab.locator(".stage image").count() == 2  # a panel a row
        assert {image.get_attribute("href") for image in tab.locator(".stage image").all()} == {dot}
        # Of each row: nothing at the top left, then ¼, ½ and all of the largest.
        opacities = [rect.get_attribute("opacity") for rect in tab.locator('.stage rect[fill="#ff800d"]').all()]
        assert opacities == ["0.21", "0.43", "0.85"] * 2
        assert said(tab).startswith("Point at a part of the picture")
        box = tab.locator(".stage image").last.bounding_box()
        tab.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
        assert said(tab) == "“dog” → “50%–100% × 0%–50%” 25%"
        tab.mouse.move(2, 2)
        tab.locator(".stage").focus()
        for key, seen in (
            ("Home", "0%–50% × 0%–50%"),
            ("ArrowDown", "0%–50% × 50%–100%"),
            ("ArrowRight", "50%–100% × 50"),
        ):
            tab.keyboard.press(key)
            assert f"“cat” → “{seen}" in said(tab)
        tab.keyboard.press("ArrowRight")  # there is nothing further
        tab.keyboard.press("Enter")
        assert "pin=c3" in location(tab)
        tab.get_by_role("button", name="Matrix", exact=True).click()
        assert tab.locator(".stage image").count() == 0


def test_a_word_lights_up_its_part_and_a_part_its_words(browser: Any, tmp_path: Path) -> None:
    """The words stand above the pictures. "cat" looks at the last quarter, "dog" at the second."""
    weights = np.array([[0.0, 0.0, 0.2, 0.8], [0.1, 0.9, 0.0, 0.0]])
    attention_map = AttentionMap(weights, (Token("cat"), Token("dog")), in_picture().columns, source=dot)
    with visit(browser, attention_map.save(tmp_path / "two.html")) as one:
        tab = one.page
        words = tab.locator(".view .words .token")
        assert words.all_text_contents() == ["cat", "dog"]
        words.first.hover()
        assert said(tab) == "“cat” attends to “50%–100% × 50%–100%” 80%, “0%–50% × 50%–100%” 20%"
        assert words.first.get_attribute("class") == "token chosen"
        box = tab.locator(".stage image").first.bounding_box()
        tab.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
        assert [word.get_attribute("data-share") for word in words.all()] == [None, "90"]
        tab.mouse.move(2, 2)
        assert [word.get_attribute("data-share") for word in words.all()] == [None, None]


def test_weights_are_smooth_where_they_are_asked_to_be(browser: Any, tmp_path: Path) -> None:
    """A picture of the weights in place of squares, in the link and in what is saved."""
    with visit(browser, in_picture().save(tmp_path / "one.html")) as one:
        tab = one.page
        assert tab.locator('.stage rect[fill="#ff800d"]').count() == 3
        tab.get_by_label("Smooth").check()
        assert "smooth=1" in location(tab)
        assert tab.locator('.stage rect[fill="#ff800d"]').count() == 0
        assert tab.locator(".stage image").count() == 2
        picture = Image.open(BytesIO(one.saved("PNG"))).convert("RGB")
        wide, high = picture.size
        right = picture.getpixel((int(0.75 * wide), int(0.75 * high)))
        assert right[0] > right[2] + 100  # black under all of it


def test_heads_of_a_single_row_stand_side_by_side(browser: Any, tmp_path: Path) -> None:
    attention_map = AttentionMap(np.eye(2, 4)[:, None], (Token("cat"),), in_picture().columns, source=dot)
    with visit(browser, attention_map.save(tmp_path / "heads.html")) as one:
        names = one.page.locator(".stage svg text").all_text_contents()
        assert names == ["mean", "head 1", "head 2"]
        assert one.page.locator('[data-key="panel"]').count() == 0  # all are seen
        box = one.page.locator(".stage image").nth(1).bounding_box()
        one.page.mouse.move(box["x"] + 5, box["y"] + 5)
        assert said(one.page) == "“cat” → “0%–50% × 0%–50%” 100%"  # of head 1, not of the mean


def test_files_hold_the_picture(browser: Any, tmp_path: Path) -> None:
    with visit(browser, in_picture().save(tmp_path / "one.html")) as one:
        picture = Image.open(BytesIO(one.saved("PNG"))).convert("RGB")
        wide, high = picture.size
        left, right = (picture.getpixel((int(x * wide), int(high * 0.75))) for x in (0.25, 0.75))
        assert left[0] > left[2] + 60  # white under half of the orange
        assert right[0] > right[2] + 150  # black under all of it
        root = ET.fromstring(one.saved("SVG"))
        (image,) = root.iter("{http://www.w3.org/2000/svg}image")
        assert image.get("href") == dot
        (shown,) = json.loads(one.saved("JSON"))["maps"]
        assert shown["source"] == dot
        assert {name: shown["columns"][3][name] for name in ("kind", "left", "bottom")} == {
            "kind": "box",
            "left": 0.5,
            "bottom": 1,
        }


def test_it_is_seen_in_a_notebook(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text("<!DOCTYPE html><meta charset=utf-8>" + fragment(in_picture()), encoding="utf-8")
    with visit(browser, path) as one:
        one.page.frame_locator("iframe").locator(".stage image").wait_for()


@pytest.mark.parametrize(
    "source",
    [
        *("", "cat.png", "http://example.org/cat.png", "javascript:alert(1)", "data:text/html;base64,AAAA"),
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjxzY3JpcHQ+YWxlcnQoMSk8L3NjcmlwdD48L3N2Zz4=",
        'data:image/png;base64,AAAA" onerror="alert(1)',
        "data:image/png;base64,AAAA'><img src=x onerror=alert(1)>",
    ],
)
def test_only_a_picture_becomes_one(browser: Any, tmp_path: Path, source: str) -> None:
    """As if somebody had written the scene by hand: the boxes are labels then."""
    shown = of_maps([in_picture()])
    shown["items"][0]["maps"][0]["source"] = source
    shown["items"][0]["inputs"] = [source]
    path = tmp_path / "by_hand.html"
    path.write_text(page(shown), encoding="utf-8")
    with visit(browser, path) as one:
        assert "Picture" not in one.page.locator(".tabs button").all_text_contents()
        assert one.page.locator("main").locator("img, image, script").count() == 0


# Live


class Seeing(Service):
    """Sees quarters of a picture; those that are left out are blank and keep their places."""

    def _item(self, question: dict[str, Any], row: int) -> dict[str, Any]:
        gone = question["drop_tokens"][row] if question["drop_tokens"] else [[]]
        weights = np.array([[0.0 if place in gone[0] else 1 / (4 - len(gone[0])) for place in range(4)]])
        look = AttentionMap(weights, (Token("7"),), in_picture().columns, source=dot)
        return item(0, question["inputs"][row], Prediction("7", -0.5, look), gone)


@pytest.fixture
def service(browser: Any) -> Iterator[Seeing]:
    one = Seeing(browser)
    yield one
    one.close()


def png(size: int = 2) -> bytes:
    out = BytesIO()
    Image.new("L", (size, size)).save(out, "PNG")
    return out.getvalue()


def choose(tab: Any, content: bytes, kind: str = "image/png") -> None:
    tab.locator("input[type=file]").set_input_files({"name": "a.png", "mimeType": kind, "buffer": content})


def test_a_picture_is_chosen_sent_and_a_part_of_it_left_out(service: Seeing) -> None:
    tab = service.open()
    tab.get_by_label("Run").select_option("5")
    assert tab.locator(".fields label").inner_text().startswith("image")
    look = tab.get_by_role("button", name="Look", exact=True)
    look.click()
    assert tab.locator(".trouble").text_content() == "Choose a picture first."
    choose(tab, png())
    tab.locator(".preview[src]").wait_for()
    look.click()
    tab.locator(".stage image").wait_for()
    (sent,) = service.asked[0]["inputs"][0]
    assert sent.startswith("data:image/png;base64,")
    assert tab.locator(".thumb").get_attribute("src") == sent
    assert sent[:40] not in location(tab)  # too long for a link
    assert tab.locator(".editor").text_content() == "Click a part of the picture to leave it out."
    for place, expected in ((0.25, [[[0]]]), (0.75, [[[0, 1]]])):
        box = tab.locator(".stage image").first.bounding_box()
        tab.mouse.click(box["x"] + place * box["width"], box["y"] + 0.25 * box["height"])
        tab.get_by_role("button", name="Leave out").click()
        tab.locator(".changes").wait_for()
        assert service.asked[-1]["drop_tokens"] == expected
        if place < 0.5:
            tab.locator('[data-key="item"]').select_option("1")
            tab.locator('[data-key="with"]').select_option("")
            box = tab.locator(".stage image").first.bounding_box()
            tab.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 0.25 * box["height"])
            assert tab.get_by_role("button", name="Leave out").count() == 0  # it is left out already
    assert service.asked[-1]["inputs"] == [[sent]]


@pytest.mark.sweep
def test_what_is_no_picture_or_too_large_is_told_in_a_line(service: Seeing) -> None:
    tab = service.open()
    tab.get_by_label("Run").select_option("5")
    choose(tab, b"<svg onload=alert(1)>", "image/svg+xml")
    assert tab.locator(".trouble").text_content() == "Please choose a picture: PNG, JPEG, GIF, WebP or BMP."
    choose(tab, b"x" * 5_000_001)
    assert tab.locator(".trouble").text_content() == "This picture is larger than 5 MB. Please choose a smaller one."
    assert tab.locator(".preview[src]").count() == 0
    choose(tab, png())
    tab.locator(".preview[src]").wait_for()
    assert tab.locator(".trouble").text_content() == ""


def test_a_picture_is_dropped(service: Seeing) -> None:
    tab = service.open()
    tab.get_by_label("Run").select_option("5")
    script = """bytes => {
        const given = new DataTransfer();
        given.items.add(new File([new Uint8Array(bytes)], "a.png", { type: "image/png" }));
        const drop = new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true });
        document.querySelector(".drop").dispatchEvent(drop);
    }"""
    tab.evaluate(script, list(png()))
    tab.locator(".preview[src]").wait_for()
    tab.get_by_label("Run").select_option("0")  # no base64 in a field for text
    assert tab.locator("textarea").input_value() == ""


def test_items_have_a_field_of_their_own(service: Seeing) -> None:
    tab = service.open()
    tab.get_by_label("Run").select_option("6")
    field = tab.get_by_label("items", exact=True)
    assert field.get_attribute("placeholder") == "ids separated by spaces"
    field.fill("17 4 9")
    field.press("Enter")
    tab.locator("figure").wait_for()
    assert service.asked[0]["inputs"] == [["17 4 9"]]
