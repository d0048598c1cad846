"""Messages are cleaned before they are read; replies have a set that may be suggested."""

import pytest
import torch

from regard.errors import RegardError
from regard.fields.message import Message
from regard.fields.suggestion import ReplyRow, Suggestion

MAILS = ["Hi Ann,\ncan you come to the party?\nBest, Ben", "can you send me the report?", "it is you that I can see"] * 2


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


def test_the_set_that_may_be_suggested() -> None:
    field = Suggestion(max_length=4)
    field.fit(["Sure!", "sure", "No, sorry.", "", "a long reply that nobody will ever say again, not ever", "At 5 pm."])
    assert [one.key for one in field.allowed][:2] == ["sure", "no, sorry"]
    assert [field.place(text) for text in ("sure", " SURE!! ", "Maybe.", "Thanks, Ben\n\nOn 3/4, Ann wrote:\n> x")][:3] == [0, 0, None]
    rows = field.encode(["Sure!", "", "one two three four five", "At 5 pm."], [""] * 4)
    assert [(len(row) > 0, row.suggest) for row in rows] == [(True, True), (False, False), (False, False), (True, False)]
    again = Suggestion()
    again.restore(field.state())
    assert again.allowed == field.allowed
    assert again.encode(["sure"], [""]) == field.encode(["sure"], [""])


def test_a_batch_without_a_reply() -> None:
    batch = Suggestion().collate([ReplyRow((), False), ReplyRow((), False)])
    assert batch.values.shape == (2, 1)
    assert batch.lengths.tolist() == [0, 0]
    assert not batch.mask.any()
    assert torch.equal(batch.suggest, torch.tensor([False, False]))


@pytest.mark.parametrize("replies", [["", " "], ["Shut up."]])
def test_nothing_to_suggest(replies: list[str]) -> None:
    with pytest.raises(RegardError, match="no repl"):
        Suggestion().fit(replies)
