"""What somebody else wrote is removed, and nothing else."""

import pytest

from regard.messages.quoted import without_quoted


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Fine.\n\nOn Mon, Mar 4, Ann wrote:\n> Shall we?", "Fine."),
        ("Fine.\nOn Monday the fourth of March 2024,\nAnn Smith wrote:\n> Shall we?", "Fine."),
        ("Ok\n-----Original Message-----\nFrom: x", "Ok"),
        ("See below.\n\nFrom: Ann\nSent: Monday\nTo: Ben\nSubject: x\nHello", "See below."),
        ("> Shall we?\nYes.\n> And then?\nLater.", "Yes.\nLater."),
        ("On Monday we wrote it.", "On Monday we wrote it."),
        ("From: here to there", "From: here to there"),
    ],
)
def test_quoted_text(text: str, left: str) -> None:
    assert without_quoted(text) == left
