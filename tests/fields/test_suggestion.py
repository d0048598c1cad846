"""Replies have a set that may be suggested."""

import pytest
import torch

from regard.errors import RegardError
from regard.fields.suggestion import ReplyRow, Suggestion


def test_the_set_that_may_be_suggested() -> None:
    field = Suggestion(max_length=4, learn="all")
    field.fit(["Sure!", "sure", "No, sorry.", "", "a long reply that nobody will ever say again, not ever", "At 5 pm."])
    assert [one.key for one in field.allowed][:2] == ["sure", "no, sorry"]
    assert [field.place(text) for text in ("sure", " SURE!! ", "Maybe.", "Thanks, Ben\n\nOn 3/4, Ann wrote:\n> x")][
        :3
    ] == [0, 0, None]
    rows = field.encode(["Sure!", "", "one two three four five", "At 5 pm."], [""] * 4)
    assert [(len(row) > 0, row.suggest) for row in rows] == [
        (True, True),
        (False, False),
        (False, False),
        (True, False),
    ]
    said = ["sure", "", "one two three four five", "at"]  # what is matched is any reply
    assert [field.text.decode(row.said)[: len(text)] for row, text in zip(rows, said, strict=True)][:2] == said[:2]
    assert [len(row.said) > 0 for row in rows] == [True, False, True, True]
    assert field.collate(rows).said.lengths.tolist() == [len(row.said[:4]) for row in rows]
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


def test_by_default_only_what_may_be_suggested_is_learned() -> None:
    field = Suggestion()
    field.fit(["Sure!", "At 5 pm.", "No, sorry."])
    rows = field.encode(["Sure!", "At 5 pm."], ["", ""])
    assert [(len(row) > 0, row.suggest) for row in rows] == [(True, True), (False, False)]
    assert field.text.unknown not in [token for row in field.tokens() for token in row]
