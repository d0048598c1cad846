"""Placeholders for what changes from message to message."""

import pytest

from regard.messages.entities import placeholders


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https://a.org/x?y=1 now", "see _url_ now"),
        ("mail a.b@c.org", "mail _email_"),
        ("it costs $5,000 or 20 euros", "it costs _money_ or _money_"),
        ("on March 3, 2024 or 5/6/24", "on _date_ or _date_"),
        ("at 5:30 pm or 7 pm", "at _time_ or _time_"),
        ("call 555-0123 or +44 20 7946 0000", "call _phone_ or _phone_"),
        ("3 people, 20%", "_number_ people, _number_"),
        ("ask Anna Smith and Mr. Brown", "ask _name_ and _name_"),
        ("Anna came. I saw Monday", "Anna came. I saw Monday"),
        ("yes How are you", "yes How are you"),
    ],
)
def test_entities(text: str, left: str) -> None:
    assert placeholders(text) == left
