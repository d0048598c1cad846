"""The encoding of a text file, from its first bytes and from the first ones that are not ASCII.

A byte order mark decides. Otherwise a file is UTF-8, even where a few of its bytes are broken, unless its bytes make
sense in another encoding and hardly any of them are UTF-8: Windows-1252 (which Latin-1 is a part of) if they do there,
else what charset-normalizer finds best among the usual encodings.

    marked(b"\\xff\\xfea\\x00")          # "utf-16"
    detected("café".encode("cp1252"))  # "cp1252"
"""

import codecs
import re

from regard.errors import RegardError
from regard.find import nearest

__all__ = ["codec_of", "detected", "marked", "name_of", "refuse_binary", "utf8", "wide"]

wide = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings in which a line feed is more than one byte."""
# In each of these a byte 0x0A is a line feed and nothing else. Stateful ones (UTF-7, ISO-2022) are not here.
narrow = (
    *("utf-8", "ascii", "cp1252", "latin-1", "cp1250", "cp1251", "koi8-r", "koi8-u", "cp1253", "cp1254", "cp1255"),
    *("cp1256", "cp1257", "cp1258", "cp437", "cp850", "cp852", "cp866", "cp874", "mac-roman", "mac-cyrillic"),
    *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *("gb18030", "gbk", "gb2312", "big5", "shift-jis", "cp932", "euc-jp", "euc-kr", "cp949"),
)
# What charset-normalizer chooses from, the more frequent first: of those that fit equally well the first is taken.
candidates = (
    *("cp1252", "cp1250", "cp1254", "cp1251", "koi8-r", "cp1253", "cp1255", "cp1256"),
    *("gb18030", "big5", "shift-jis", "euc-jp", "euc-kr"),
)
names = {"cp1252": "Windows-1252 (Latin-1)", "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}

enough = 1 << 16  # bytes of lines that are not ASCII, for a decision
few = 20  # bytes that are no UTF-8: with fewer only Windows-1252 can be told from damage
sequence = re.compile(  # a well-formed character of UTF-8 beyond ASCII
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
beyond = re.compile(rb"[\x80-\xff]")
control = re.compile(rb"[\x00-\x09\x0b\x0c\x0e-\x1f]")  # of these a text of bytes has hardly any but tabs
signs = set("‘’‚“”„–—…•€£§°²³½¼«»´·®©™¿¡ºª\u00a0\xad")  # of western text, beside letters
strange = set("ÿƒªº¹³²±×÷µ¿¡¤¦¨¬¯¶¸")  # not in the middle of a western word
alone = set("àèéêìíòóôúåæöøÀÈÉÊÌÍÒÓÔÚÅÆÖØ")  # words of one letter
magic = {
    b"\x1f\x8b": ("compressed with gzip", "rename it to end in .gz"),
    b"PK\x03\x04": ("a ZIP archive or a spreadsheet", "save its table as CSV"),
    b"PAR1": ("a Parquet file", "save it as CSV or JSON lines"),
    b"\xd0\xcf\x11\xe0": ("an Excel or Word file", "save its table as CSV"),
}


def name_of(encoding: str) -> str:
    """What people call it."""
    return names.get(encoding, encoding.upper() if encoding.startswith(("utf", "koi", "gb")) else encoding)


def codec_of(encoding: str) -> str:
    """The encoding that an option names, as it is called here."""
    wanted = encoding.strip().lower().replace("_", "-").removesuffix("-sig")
    known = {codecs.lookup(name).name: name for name in (*narrow, *wide)}
    try:
        return known[codecs.lookup(wanted).name]
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        raise RegardError(f"data.encoding={encoding!r}", do=nearest(wanted, ["auto", *known.values()])) from None


def refuse_binary(path: str, head: bytes) -> None:
    """Raises for well-known files that are no text."""
    for start, (what, do) in magic.items():
        if head.startswith(start):
            raise RegardError(f"{path}: {what}", expected="text", do=do)


def marked(head: bytes) -> str:
    """The encoding that a byte order mark tells, or UTF-16 where the bytes show it; "" otherwise."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8"
    return next((name for name, high in (("utf-16-le", 1), ("utf-16-be", 0)) if _is_wide(head, name, high)), "")


def utf8(data: bytes) -> tuple[int, int]:
    """How many well-formed characters beyond ASCII there are, and how many bytes that belong to none."""
    rest, count = sequence.subn(b"", data)
    return count, len(beyond.findall(rest))


def detected(data: bytes) -> str:
    """The encoding of whole lines without a byte order mark, some of them not ASCII."""
    good, bad = utf8(data)
    if not bad or 2 * good >= bad:
        return "utf-8"
    lines = [line for line in data.split(b"\n") if not line.isascii()]
    sample = b"\n".join(lines)[:enough]
    western = _decodes(sample, "cp1252") and _western(sample.decode("cp1252"))
    if bad < few:
        return "cp1252" if western else "utf-8"
    from charset_normalizer import from_bytes

    isolated = [codecs.lookup(name).name.replace("-", "_") for name in candidates]
    chaos: dict[str, float] = {}
    for match in from_bytes(sample, cp_isolation=isolated):
        for name in {match.encoding, *match.could_be_from_charset}:
            chaos[codecs.lookup(name).name] = match.chaos
    found = [name for name in candidates if codecs.lookup(name).name in chaos and (western or name != "cp1252")]
    if not found:
        return "cp1252" if western else "utf-8"
    return min(found, key=lambda name: round(chaos[codecs.lookup(name).name], 1))


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_wide(head: bytes, encoding: str, high: int) -> bool:
    """Whether text is UTF-16 without a byte order mark; `high` is the place of the high byte of each character.

    Spaces, digits and line ends have a zero there in every script. That is no evidence by itself, as any file may
    have zero bytes in it: the line feeds have to be line feeds in UTF-16 as well, and a large part of the bytes
    something that no text has in an encoding of bytes.
    """
    zeros, misplaced = head[high::2].count(0), head[1 - high :: 2].count(0)
    if not zeros or 2 * misplaced > zeros or len(head) % 2:  # a few characters end in a zero byte, as 一 does
        return False
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    if not text.strip():
        return False
    if text.count("\n"):
        aligned = 4 * text.count("\n") >= head.count(b"\n")  # some characters have this byte, as 上 does
    else:
        aligned = b"\n" not in head and 2 * zeros == len(head)
    return aligned and len(control.findall(head)) + utf8(head)[1] > 0.2 * len(head)


def _western(text: str) -> bool:
    """Whether this could be a text of western Europe: accents within words, the usual signs between them."""
    right = total = foreign = plain = 0
    for word in re.findall(r"[^\x00-\x20]*[^\x00-\x7f][^\x00-\x20]*", text):
        letters = [c for c in word if c.isalpha()]
        if len(letters) == 1 and letters[0] in alone:
            letters = []  # "à" may be the only word with an accent
        plain += sum(c.isascii() for c in letters)
        foreign += sum(not c.isascii() for c in letters)
        inner = word[1:-1]
        for place, c in enumerate(word):
            if not c.isascii():
                total += 1
                between = 0 < place <= len(inner) and word[place - 1].isalpha() and word[place + 1].isalpha()
                near = word[max(0, place - 1) : place] + word[place + 1 : place + 2]
                if c in strange and (between or c not in signs):
                    continue
                right += c in signs or (c.isalpha() and (len(letters) < 2 or any(n.isalpha() for n in near)))
    return right >= 0.95 * total and foreign <= plain + 1
