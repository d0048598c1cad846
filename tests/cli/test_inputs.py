"""Lines as they come, and lines that cannot be read."""

import pytest
from command_line import Drip

from regard.cli import inputs


def test_lines_are_put_together_from_pieces() -> None:
    text = "äb\r\n\nc"
    chunks = list(inputs.chunks(Drip(text.encode(), 1).read, "x"))
    assert [(one.text, one.where) for _, lines in chunks for one in lines] == [("äb", "x:1"), ("", "x:2"), ("c", "x:3")]


def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "longest", 10)
    text = b"0123456789\n" + b"x" * 1000 + b"\nab\n0123456789a"
    for piece in (1, 7, 2000):
        found = [line for _, some in inputs.chunks(Drip(text, piece).read, "x") for line in some]
        assert [one.text for one in found] == ["0123456789", "", "ab", ""]
        assert [str(one.error)[:12] if one.error else "" for one in found] == ["", "x:2: line lo", "", "x:4: line lo"]


def test_a_chunk_is_no_heavier_than_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "heavy", 10)
    for eager in (True, False):
        some = list(inputs.chunks(Drip(b"a" * 8 + b"\n" + b"b" * 8 + b"\nc\nd\n", 100).read, "x", eager))
        assert [(before, len(lines)) for before, lines in some] == [(0, 2), (2, 2)]
