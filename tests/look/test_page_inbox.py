"""Suggested replies on the page: the message, a button each, the chosen one to edit, or why there is none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import launched, role, visit

from regard.look.attention_map import AttentionMap
from regard.look.page import page
from regard.look.scene import item, scene
from regard.regions import Token
from regard.types import Prediction

RUN = {
    "name": "reply", "task": "reply", "does": "Suggests replies.", "about": None, "badge": None, "searches": False,
    "layers": 0, "features": False, "roles": [role("message")],
}  # fmt: skip
MESSAGE = "Hi Ann,\ncan you <b>come</b>?"


def weights(reply: str) -> AttentionMap:
    words = tuple(Token(word, n, n + 1) for n, word in enumerate(reply.split()))
    return AttentionMap(
        np.full((len(words), 2), 0.5), words, (Token("can", 0, 3), Token("come", 8, 12)), "can you come"
    )


@pytest.fixture
def suggested() -> Prediction:
    others = tuple(
        Prediction(text, log_prob, intent=intent)
        for text, log_prob, intent in (("No.", -1.5, "decline"), ("When?", -2.0, "ask when"))
    )
    return Prediction(
        "Yes, sure.",
        -1.0,
        weights("yes , sure"),
        others=others,
        looks=(weights("no"), weights("when ?")),
        intent="accept",
    )


def test_what_the_page_is_told(suggested: Prediction) -> None:
    told = item(0, (MESSAGE,), suggested)
    assert [(one["text"], one["intent"]) for one in told["suggestions"]] == [
        ("Yes, sure.", "accept"), ("No.", "decline"), ("When?", "ask when"),
    ]  # fmt: skip
    assert told["suggestions"][0]["probability"] == pytest.approx(np.exp(-1.0))
    assert "silent" not in told
    silent = item(0, (MESSAGE,), Prediction("", None, reason="sensitive (death)"))
    assert (silent["suggestions"], silent["silent"], silent["maps"]) == ([], "sensitive (death)", [])
    assert "suggestions" not in item(0, (MESSAGE,), Prediction("Yes.", -1.0))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def test_a_reply_is_chosen_and_can_be_edited(browser: Any, tmp_path: Path, suggested: Prediction) -> None:
    path = tmp_path / "inbox.html"
    path.write_text(page(scene([item(0, (MESSAGE,), suggested)], [RUN])), encoding="utf-8")
    with visit(browser, path) as one:
        assert "<b>come</b>" in one.page.locator(".inbox .mail").inner_text()
        buttons = one.page.locator(".suggestions button")
        assert buttons.all_inner_texts() == ["Yes, sure.", "No.", "When?"]
        assert one.page.locator(".inbox textarea").input_value() == "Yes, sure."
        buttons.nth(1).click()
        assert one.page.locator(".inbox textarea").input_value() == "No."
        assert one.page.locator(".suggestions button[aria-pressed=true]").inner_text() == "No."
        one.page.locator(".inbox textarea").fill("No, not today.")
        assert one.page.locator(".inbox textarea").input_value() == "No, not today."


def test_silence_says_why(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "silent.html"
    path.write_text(
        page(scene([item(0, (MESSAGE,), Prediction("", None, reason="sensitive (death)"))], [RUN])), encoding="utf-8"
    )
    with visit(browser, path) as one:
        assert one.page.locator(".inbox .note").inner_text() == "No suggestion: sensitive (death)."
        assert one.page.locator(".suggestions button").count() == 0
