"""Replies that are never suggested."""

import pytest

from regard.messages.unsuitable import unsuitable


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Shut up.", "rude"),
        ("At _time_.", "placeholder"),
        ("!!!", "no words"),
        ("I love you", "intimate"),
        ("Sure!", ""),
    ],
)
def test_unsuitable_replies(reply: str, why: str) -> None:
    assert unsuitable(reply) == why
