"""What stands below a mail."""

import pytest

from regard.messages.signature import without_signature


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See you.\n-- \nAnn\nPhone: 1", "See you."),
        ("See you.\n\nAnn Miller\n+44 20 7946 0000", "See you."),
        ("See you.\nSent from my phone", "See you."),
        ("Write to ann@x.org", "Write to ann@x.org"),
        ("--\nAnn", "--\nAnn"),
    ],
)
def test_signatures(text: str, left: str) -> None:
    assert without_signature(text) == left
