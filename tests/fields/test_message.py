"""Messages are cleaned before they are read."""

import pytest

from regard.errors import RegardError
from regard.fields.message import Message

MAILS = [
    "Hi Ann,\ncan you come to the party?\nBest, Ben",
    "can you send me the report?",
    "it is you that I can see",
] * 2


def test_it_reads_what_is_left_after_cleaning() -> None:
    field = Message(end=True)
    field.fit(MAILS)
    [row] = field.encode([MAILS[0]], [""])
    assert row == field.encode(["can you come to the party?"], [""])[0]
    [regions] = field.regions([MAILS[0]])
    assert [one.text for one in regions][:3] == ["can", "you", "come"]
    assert len(regions) == len(row)
    assert field.title(MAILS[0]) == "can you come to the party?"
    again = Message(end=True)
    again.restore(field.state())
    assert again.encode(MAILS, [""] * 6) == field.encode(MAILS, [""] * 6)
    assert again.language == "en"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("My father died.", "sensitive (death)"),
        ("Kannst du mir das bitte auf dem Weg zu uns mit der Post schicken?", "not in the language of the model (de)"),
        ("> only quoted", "nothing is left after cleaning"),
        ("can you come?", ""),
    ],
)
def test_why_nothing_may_be_suggested(text: str, why: str) -> None:
    field = Message(end=True)
    field.fit(MAILS)
    assert field.unread(text) == why
    assert not Message(end=True, language="any").unread("Kannst du mir das bitte mit der Post zu uns schicken?")


def test_a_language_that_is_none() -> None:
    with pytest.raises(RegardError, match=r"message.language='klingon'; expected auto, any or one of ar, de"):
        Message(end=True, language="klingon")
