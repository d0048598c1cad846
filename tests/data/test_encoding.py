"""Which encoding a file has: told by its bytes, and left at UTF-8 where they do not tell."""

from pathlib import Path

import pytest

from regard.data.encoding import codec_of, detected, marked
from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError

texts = {
    "de": ("Der Hund läuft über die Straße.\nSchöne Grüße aus München!", "cp1252"),
    "fr": ("C'était génial à voir, je l'ai beaucoup aimé.\nTrès mauvais, nous avons été déçus", "cp1252"),
    "es": ("El niño pequeño corrió. ¿Te gustó muchísimo la acción?", "cp1252"),
    "da": ("Jeg kan godt lide rødgrød med fløde på en søndag.", "cp1252"),
    "en": ("I don’t like it – it’s “bad”. Cost £5 at the café.", "cp1252"),
    "short": ("cé\td", "latin-1"),
    "à": ("Il va à Paris.\n" * 30, "cp1252"),
    "pl": (
        "Zażółć gęślą jaźń, to był bardzo dobry film.\nMiło było cię poznać w środę, książka też jest świetna.",
        "cp1250",
    ),
    "ru": ("Привет мир, это хороший фильм.", "cp1251"),
    "koi8": ("Привет мир, это хороший фильм.", "koi8-r"),
    "zh": ("这部电影非常好看，我很喜欢。\n太差了，不要看。", "gb18030"),
    "ja": ("この映画はとても面白いです。\nつまらない映画でした。", "shift-jis"),
    "ko": ("이 영화는 정말 재미있다.\n별로예요, 추천하지 않아요.", "euc-kr"),
}


@pytest.mark.parametrize("name", texts)
def test_texts_as_people_have_them(name: str) -> None:
    text, encoding = texts[name]
    data = text.encode(encoding)
    assert data.decode(detected(data)) == text
    assert detected(text.encode()) == "utf-8"


@pytest.mark.parametrize(
    "data",
    [
        "schön\nk".encode() + b"\xe9d",  # one line is damaged
        b"text \xff\xfe text",
        b"text \x93\xa4\xf1 text",
        bytes(range(128, 140)),
        "größe".encode() + b"\xff\xff",
    ],
)
def test_damage_is_no_encoding(data: bytes) -> None:
    assert detected(data) == "utf-8"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["a\tb\nc d\te\n", "größe 北京 x\t1\r\n" * 2_000])
def test_wide_files(encoding: str, text: str, tmp_path: Path) -> None:
    path, log = tmp_path / "a.txt", ReadLog()
    path.write_bytes(text.encode(encoding))
    assert list(TextFile(str(path), "auto", log).lines()) == text.splitlines()
    name = "UTF-32" if encoding == "utf-32" else "UTF-16"
    assert log.notes() == (
        [f"{path}: read as {name}, not UTF-8; set data.encoding= if that is wrong"] if encoding != "utf-8-sig" else []
    )


def test_zeros_alone_are_not_utf_16() -> None:
    assert marked(b"a\x00b\tc") == ""
    assert marked(b"some text with a \x00 in it\tand a label\n") == ""
    assert marked(b",\x00\r\nlast,one\r\n") == ""  # in UTF-16 it would have no line feed
    assert marked("последний\tодин\n".encode("utf-16-le")) == "utf-16-le"  # its bytes are UTF-8, too


@pytest.mark.parametrize(
    "data",
    [
        b"ab\0c",
        b"a\tb\0",
        b"a fine film\tgo\0od\n",
        b"a fine film\0\na dull film\0\n" * 3,  # each line ends in a zero byte, as a C string does
        b"caf\xe9 noir\x00\tgood\n",  # Latin-1 with one zero byte in it
        b"\x01\x02\x03\x04",
        b"\x00",
        b"\x00\n",
        "größe\0\tb\n".encode() * 30,
        b"caf\xe9\0 ab\tgood\n" * 30,
        "Привет мир, это фильм\0\n".encode("cp1251") * 30,
    ],
)
def test_zero_bytes_in_an_encoding_of_bytes(data: bytes) -> None:
    assert marked(data) == ""


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "ab",
        "这部电影一般\tgood\n上海一下\tbad\n",  # 一 ends in a zero byte, 上 in a line feed
        "a\t😀\n",
        "последний\tодин\n",
        "यह एक अच्छी फ़िल्म है\tgood\n",
        "これはとても面白い映画です\tgood\n",
    ],
)
def test_utf_16_without_a_mark(text: str, encoding: str) -> None:
    assert marked(text.encode(encoding)) == encoding
    assert marked((text * 30).encode(encoding)) == encoding
    assert marked(text.encode()) == ""


def test_a_damaged_wide_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("a\nb\n".encode("utf-16") + b"\x00\xd8\x00\xd8" + "c\n".encode("utf-16-le"))
    with pytest.raises(RegardError, match=r"a.txt:3: not UTF-16 \(illegal UTF-16 surrogate\)"):
        list(TextFile(str(path)).lines())


def test_an_encoding_that_is_given() -> None:
    assert [codec_of(name) for name in ("UTF8", "latin1", "windows-1252", "ISO-8859-15", "utf_16")] == [
        *("utf-8", "latin-1", "cp1252", "iso8859-15", "utf-16")
    ]
    for name in ("utf-7", "rot13", "base64", "latin-99", "a\0b"):
        with pytest.raises(RegardError, match=r"data.encoding="):
            codec_of(name)


def test_a_decision_that_turns_out_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.reading.piece", 64)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a caf\xe9 here\n" * 100 + "größer und schöner\n".encode() * 20)
    with pytest.raises(RegardError, match=r"a.txt: Windows-1252 .* before line 101, UTF-8 after it; expected one"):
        list(TextFile(str(path)).lines())
    path.write_bytes(b"plain\n" * 100 + b"a caf\xe9 here\n" * 20)  # what comes first is no evidence
    assert list(TextFile(str(path)).lines())[-1] == "a café here"
