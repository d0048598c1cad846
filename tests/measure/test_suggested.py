"""Measures of suggested replies, by hand: four messages, of which one is sensitive and one has a long reply."""

from typing import Any

import pytest

from regard.find import build
from regard.measure import Results, Suggested
from regard.types import Example, Prediction

TOLD = [
    Suggested(True, 0, False, ("accept", "decline", "check"), exact=True, alike=True),
    Suggested(True, 3, False, ("accept", "decline"), alike=True),
    Suggested(True, None, False, ("thank",)),  # its reply is none of the allowed
    Suggested(True, 1, True, ()),  # sensitive, and silent
    Suggested(False, None, True, ("accept",)),  # sensitive, and a suggestion all the same
    Suggested(True, 4, False, ()),  # silent where a suggestion was wanted
]


def results(told: list[Suggested]) -> Results:
    return Results([Example(("m",), "r")] * len(told), [Prediction("", None)] * len(told), suggested=told)


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("coverage", {"coverage": 4 / 5}),
        ("trigger", {"trigger": 2 * 2 / (4 + 3), "trigger_precision": 2 / 4, "trigger_recall": 2 / 3}),
        ("reply_rank", {"mrr": (1 + 1 / 4 + 1 / 2 + 1 / 5) / 4, "recall_at_3": 2 / 4}),
        ("distinct_intents", {"distinct_intents": (3 + 2 + 1 + 1) / 4}),
        ("sensitive_answered", {"sensitive_answered": 1 / 2}),
        ("click_share", {"click_share": 1 / 5, "click_share_intent": 2 / 5}),
    ],
)
def test_by_hand(name: str, figures: dict[str, Any]) -> None:
    assert build("measure", name)(results(TOLD)) == pytest.approx(figures)
    assert build("measure", name)(results([])) == {}


def test_without_anything_to_count() -> None:
    silent = results([Suggested(False, None, False, ())])
    for name in ("coverage", "reply_rank", "distinct_intents", "sensitive_answered", "click_share"):
        assert build("measure", name)(silent) == {}
    assert build("measure", "trigger")(silent)["trigger"] == 0
