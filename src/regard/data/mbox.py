"""Mails of an mbox → messages and their replies, matched by In-Reply-To and References (RFC 5322, section 3.6.4).

A mail that another one replies to is a message with that reply (the first, where there are several); one that nobody
replied to is a message without a reply, from which the trigger learns to be silent. Of each mail the plain text is
read, or the text of its HTML. What is quoted in it, cleaning removes (messages/clean.py).

Mails come from strangers. One that cannot be read is left out and counted; sizes are bounded; nothing is fetched, and
no attachment is opened.

    read_mbox("mails.mbox", log)
"""

import mailbox
import os
import re
from collections.abc import Iterator
from email.message import Message
from html.parser import HTMLParser
from typing import NamedTuple

from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError, counted
from regard.types import Example

__all__ = ["is_mbox", "read_mbox"]

BYTES = 2**32  # of a file
MAILS = 500_000
CHARACTERS = 20_000  # of a mail, from its start
PARTS = 50  # of a mail that are looked at
ID = re.compile(r"<[^<>\s]{1,500}>")


class Mail(NamedTuple):
    """What is read of a mail; `parents` are the ids that it may reply to, the surest first."""

    id: str
    parents: tuple[str, ...]
    text: str
    number: int


def is_mbox(path: str) -> bool:
    """Whether a file has the name of an mbox, or begins like one."""
    if path.lower().endswith((".mbox", ".mbx")):
        return True
    return not os.path.splitext(path)[1] and os.path.isfile(path) and TextFile(path).head.startswith("From ")


def read_mbox(path: str, log: ReadLog) -> list[Example]:
    """An example for each mail that has a text."""
    place = os.path.expanduser(path)
    try:
        size = os.stat(place).st_size
    except OSError as error:
        raise RegardError(f"{path}: cannot be read ({error.strerror})") from None
    if size > BYTES:
        raise RegardError(f"{path}: {size:,} bytes", expected=f"at most {BYTES:,}", do="split it")
    if path.lower().endswith(".gz"):
        raise RegardError(f"{path}: a packed mbox", do="unpack it with gunzip")
    mails = {mail.id: mail for mail in _mails(place, path, log)}
    if not mails:
        raise RegardError(f"{path}: no mail with a text", expected="an mbox, whose mails begin with a line 'From …'")
    replies: dict[str, Mail] = {}
    for mail in mails.values():
        parent = next((one for one in mail.parents if one in mails and one != mail.id), None)
        if parent is not None:
            replies.setdefault(parent, mail)
    answered = {name: mail.text for name, mail in replies.items()}
    log.decide(f"{path}: {counted(len(mails), 'mail')}, {len(replies):,} of them with a reply")
    return [Example((one.text,), answered.get(one.id, ""), f"{path}:{one.number}") for one in mails.values()]


def _mails(place: str, path: str, log: ReadLog) -> Iterator[Mail]:
    left, box = 0, mailbox.mbox(place, create=False)
    try:
        for number, key in enumerate(box.iterkeys(), 1):
            if number > MAILS:
                raise RegardError(f"{path}: more than {MAILS:,} mails", do="split it")
            try:
                mail = _mail(box[key], number)
            except (LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError, OSError):
                mail = None  # what the email package raises for broken headers and parts is not one kind of error
            if mail is None or not mail.text.strip():
                left += 1
            else:
                yield mail
    finally:
        box.close()
    if left:
        log.decide(f"{path}: {counted(left, 'mail')} without a text that can be read left out")


def _mail(message: Message, number: int) -> Mail:
    ids = ID.findall(str(message.get("Message-ID", ""))[:1_000])
    earlier = ID.findall(str(message.get("References", ""))[-5_000:])
    parents = (*ID.findall(str(message.get("In-Reply-To", ""))[:1_000]), *reversed(earlier))
    return Mail(ids[0] if ids else f"<{number}>", parents, _text(message), number)


def _text(message: Message) -> str:
    """The plain text of a mail, or that of its HTML."""
    html = ""
    for count, part in enumerate(message.walk()):
        if count == PARTS:
            break
        if part.is_multipart() or part.get_filename() or part.get_content_maintype() != "text":
            continue
        payload = part.get_payload(decode=True)
        if not isinstance(payload, bytes):
            continue
        text = _decoded(payload[: 4 * CHARACTERS], part.get_content_charset() or "utf-8")
        if part.get_content_subtype() == "plain" and text.strip():
            return text[:CHARACTERS]
        if part.get_content_subtype() == "html" and not html:
            html = _without_tags(text)
    return html[:CHARACTERS]


def _decoded(data: bytes, charset: str) -> str:
    try:
        text = data.decode(charset, "replace")
    except LookupError:  # a charset that nobody knows
        text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\0", "")


class _Words(HTMLParser):
    """The text between tags; lines where blocks end."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("script", "style", "head", "blockquote")
        if tag in ("br", "p", "div", "tr", "li"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(0, self.hidden - (tag in ("script", "style", "head", "blockquote")))

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def _without_tags(html: str) -> str:
    parser = _Words()
    parser.feed(html)
    parser.close()
    return re.sub(r"[ \t]+", " ", "".join(parser.parts)).strip()
