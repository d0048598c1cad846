"""Weights over a recording on the page: letters light up as the sound plays, and nothing but a sound becomes one."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import test_page_live
from browser import launched, location, role, visit
from test_page_live import Service
from test_sound import heard, tone

from regard.look.page import page
from regard.look.scene import item, of_maps
from regard.types import Prediction


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def test_letters_light_up_with_the_sound(browser: Any, tmp_path: Path) -> None:
    with visit(browser, heard().save(tmp_path / "one.html")) as one:
        tab = one.page
        assert tab.locator(".tabs button").all_text_contents() == ["Sound", "Matrix"]
        assert tab.locator("audio").get_attribute("src") == tone()
        assert tab.locator(".stage image").count() == 1  # the spectrogram
        assert tab.locator(".letter").all_text_contents() == ["A"]  # the end is no letter
        texts = tab.locator(".stage svg text").all_text_contents()
        assert texts[:4] == ["A", "0.20–0.40 s", "</s>", "0.60–0.80 s"]
        tab.wait_for_function("document.querySelector('audio').readyState >= 1")
        seek = "time => { document.querySelector('audio').currentTime = time; }"
        tab.evaluate(seek, 0.3)
        tab.locator(".letter.lit").wait_for()
        tab.evaluate(seek, 0.9)
        tab.locator(".letter.lit").wait_for(state="detached")
        places = "() => document.querySelector('.playhead').style.left"
        assert float(str(tab.evaluate(places)).removesuffix("px")) > 100


def test_a_moment_is_pointed_at(browser: Any, tmp_path: Path) -> None:
    with visit(browser, heard().save(tmp_path / "one.html")) as one:
        tab = one.page
        said = tab.locator(".said").first
        assert str(said.text_content()).startswith("Point at a moment of the recording")
        tab.locator(".stage").focus()
        for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight"):
            tab.keyboard.press(key)
        text = str(said.text_content()).replace("\u2068", "").replace("\u2069", "")
        assert text == "“A” → “0.30–0.40 s” 60%"
        tab.keyboard.press("ArrowDown")
        assert "“</s>” → “0.30–0.40 s” 0%" in str(said.text_content()).replace("\u2068", "").replace("\u2069", "")
        shown = json.loads(one.saved("JSON"))["maps"][0]
        assert shown["columns"][3]["kind"] == "interval"


class Hearing(Service):
    """Hears an A in whatever it is sent."""

    def _item(self, question: dict[str, Any], row: int) -> dict[str, Any]:
        return item(0, question["inputs"][row], Prediction("A", -0.5, heard()))


def test_a_recording_is_chosen_and_sent(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"name": "ears", "task": "transcribe", "searches": True, "badge": None}
    monkeypatch.setattr(test_page_live, "runs", [{**run, "roles": [role("audio", "audio")]}])
    service = Hearing(browser)
    tab = service.open()
    look = tab.get_by_role("button", name="Look", exact=True)
    look.click()
    assert tab.locator(".trouble").text_content() == "Choose a recording first."
    content = base64.b64decode(tone().partition(",")[2])
    tab.locator("input[type=file]").set_input_files({"name": "a.wav", "mimeType": "audio/wav", "buffer": content})
    tab.locator(".drop audio[src]").wait_for()
    look.click()
    tab.locator(".player audio").wait_for()
    assert service.asked[0]["inputs"] == [[tone()]]
    assert "base64" not in location(tab)
    service.close()


@pytest.mark.parametrize(
    "source",
    ["", "http://example.org/a.wav", 'data:audio/wav;base64,AAAA" onerror="alert(1)', "data:text/html;base64,AAAA"],
)
def test_only_a_sound_becomes_one(browser: Any, tmp_path: Path, source: str) -> None:
    """As if somebody had written the scene by hand: the intervals are labels then."""
    shown = of_maps([heard()])
    shown["items"][0]["maps"][0]["source"] = source
    path = tmp_path / "by_hand.html"
    path.write_text(page(shown), encoding="utf-8")
    with visit(browser, path) as one:
        assert "Sound" not in one.page.locator(".tabs button").all_text_contents()
        assert one.page.locator("audio, img, .stage image").count() == 0


def test_what_was_asked_is_named_and_not_written_out(browser: Any, tmp_path: Path) -> None:
    from regard.look.scene import scene

    run = {
        "name": "ears",
        "task": "transcribe",
        "roles": [{"name": "audio", "kind": "audio"}],
        "searches": True,
        "badge": None,
    }
    found = item(0, [tone()], Prediction("A", -0.5, heard()))
    path = tmp_path / "asked.html"
    path.write_text(page(scene([found], [run])), encoding="utf-8")
    with visit(browser, path) as one:
        assert "recording" in str(one.page.locator(".asked").text_content())
        assert "base64" not in str(one.page.locator("main").text_content())
