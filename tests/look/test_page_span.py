"""An answer that is a part of the document, on the page: it is marked there, with the second best beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import launched, role, visit

from regard.look.attention_map import AttentionMap
from regard.look.page import page
from regard.look.scene import item, scene
from regard.regions import Item, Token
from regard.types import Prediction

TEXT = "🙂 Ada <b>met</b> Bo in Rome"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def test_the_answer_is_marked_in_the_text(browser: Any, tmp_path: Path) -> None:
    """Offsets count characters, and the text is text, whatever it looks like."""
    words = tuple(Token(word, TEXT.index(word), TEXT.index(word) + len(word)) for word in ("Ada", "Bo", "Rome"))
    look = AttentionMap(np.array([[0.8, 0.1, 0.1]]), (Item("start", 0),), words, "who")
    places = {word: (TEXT.index(word), TEXT.index(word) + len(word)) for word in ("Ada", "Bo in Rome")}
    second = Prediction("Bo in Rome", -2.0, span=places["Bo in Rome"])
    first = Prediction("Ada", -0.2, look, span=places["Ada"], others=(second,))
    run = {
        "name": "reader", "task": "answer", "does": "Answers.", "about": None, "badge": None, "searches": False,
        "layers": 0, "features": False, "roles": [role("document"), role("question")],
    }  # fmt: skip
    path = tmp_path / "span.html"
    path.write_text(page(scene([item(0, (TEXT, "Who?"), first)], [run])), encoding="utf-8")
    with visit(browser, path) as one:
        marks = one.page.locator(".asked mark")
        assert marks.all_text_contents() == ["Ada", "Bo in Rome"]
        assert [mark.get_attribute("class") for mark in marks.all()] == [None, "second"]
        assert TEXT in str(one.page.locator(".asked").text_content())
        assert one.page.locator(".asked b").count() == 0
        assert "2 answers" in str(one.page.locator(".others summary").text_content())
