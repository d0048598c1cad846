"""Mails of an mbox and their replies; broken mail is left out, and sizes are bounded."""

from pathlib import Path

import pytest

from regard.data import mbox
from regard.data.load import load_part
from regard.data.mbox import is_mbox, read_mbox
from regard.data.readlog import ReadLog
from regard.errors import RegardError
from regard.fields.message import Message
from regard.fields.suggestion import Suggestion

MAILS = """From a@x Mon Mar  4 10:00:00 2024
From: Ann <a@x.example>
Message-ID: <1@x>

Can you come to lunch?

From b@x Mon Mar  4 11:00:00 2024
Message-ID: <2@x>
In-Reply-To: <nobody@x>
References: <0@x> <1@x>

Sure!

From c@x Mon Mar  4 12:00:00 2024
Message-ID: <3@x>
In-Reply-To: <1@x>

A second reply.

From d@x Mon Mar  4 12:00:00 2024
Content-Type: text/html; charset=nosuch

<html><head><title>t</title></head><style>x</style><p>Sale! <b>20%</b> off</p><blockquote>old</blockquote></html>

From e@x Mon Mar  4 12:00:00 2024
Content-Type: multipart/mixed; boundary=

From f@x Mon Mar  4 12:00:00 2024
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

!!!!
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = tmp_path / "mails.mbox"
    place.write_text(MAILS)
    return str(place)


def test_replies_are_matched_and_the_broken_left_out(path: str) -> None:
    log = ReadLog()
    found = read_mbox(path, log)
    assert [(one.source.strip(), one.target.strip()) for one in found] == [
        ("Can you come to lunch?", "Sure!"), ("Sure!", ""), ("A second reply.", ""), ("Sale! 20% off", ""),
    ]  # fmt: skip
    assert found[0].where == f"{path}:1"
    assert f"{path}: 4 mails, 1 of them with a reply" in log.notes()
    assert f"{path}: 2 mails without a text that can be read left out" in log.notes()
    fields = (Message(end=True), Suggestion())
    assert load_part(path, fields) == found


def test_plain_text_comes_before_html_and_attachments_are_not_read(tmp_path: Path) -> None:
    mail = (
        "From a@x Mon Mar  4 10:00:00 2024\nContent-Type: multipart/mixed; boundary=b\n\n"
        "--b\nContent-Type: text/html\n\n<p>html</p>\n"
        '--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename="x.txt"\n\nattached\n'
        "--b\nContent-Type: text/plain\n\nplain\n--b--\n"
    )
    place = tmp_path / "mails"
    place.write_text(mail)
    assert is_mbox(str(place))
    assert [one.source.strip() for one in read_mbox(str(place), ReadLog())] == ["plain"]


def test_what_is_no_mbox(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.mbox").write_text("nothing here\n")
    for name, said in (("empty.mbox", "no mail with a text"), ("missing.mbox", "cannot be read")):
        with pytest.raises(RegardError, match=said):
            read_mbox(str(tmp_path / name), ReadLog())
    monkeypatch.setattr(mbox, "MAILS", 2)
    with pytest.raises(RegardError, match="more than 2 mails"):
        read_mbox(path, ReadLog())
    monkeypatch.setattr(mbox, "BYTES", 10)
    with pytest.raises(RegardError, match="at most 10"):
        read_mbox(path, ReadLog())


def test_noise_is_never_a_traceback(tmp_path: Path) -> None:
    place = tmp_path / "noise.mbox"
    place.write_bytes(
        MAILS.encode() + b"From x\nSubject: =?utf-8?q?=ff=fe?=\nMessage-ID: \xff\xfe\n\n\x00\xff\xfe hi \r\n\n" * 3
    )
    assert read_mbox(str(place), ReadLog())[-1].source.strip().endswith("hi")
