"""Greetings and closings, and messages that are nothing else."""

import pytest

from regard.messages.salutation import without_closing, without_greeting


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi Ann,\ncan you come?", "can you come?"),
        ("Dear Mr. Brown,\n\nplease call.", "please call."),
        ("Good morning!\nAny news?", "Any news?"),
        ("Hello!", "Hello!"),
        ("High time we met.", "High time we met."),
        ("Hi there", "Hi there"),
    ],
)
def test_greetings(text: str, left: str) -> None:
    assert without_greeting(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Can you come?\nBest regards,\nBen", "Can you come?"),
        ("Can you come? Thanks, Ben", "Can you come?"),
        ("Can you come?\nBen", "Can you come?"),
        ("Thanks!", "Thanks!"),
        ("I give my best", "I give my best"),
    ],
)
def test_closings(text: str, left: str) -> None:
    assert without_closing(text) == left
