"""The objects of a JSON file: one per line, or all in one array, which may be on one line or pretty-printed.

for number, row, line in json_rows(TextFile("train.json"), log): ...    # line: the text the object was read from
"""

import json
from collections.abc import Iterator
from typing import Any

from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError
from regard.reading import longest, too_long

__all__ = ["json_rows"]

Row = tuple[int, dict[str, Any], str]
spaces = " \t\r\n"


def json_rows(file: TextFile, log: ReadLog) -> Iterator[Row]:
    """Each object with the number of its first line and its text; what is no object goes into the log."""
    start = file.head.lstrip()
    array = start[:1] == "[" and start[1:].lstrip()[:1] in ("{", "")
    if _one_object(file.head):
        raise RegardError(
            f"{file.path}: one JSON object on several lines", expected="an array of objects, or one object per line"
        )
    for number, value, text in _array(file) if array else _lines(file, log):
        if isinstance(value, dict):
            yield number, value, text
        else:
            where = f"{file.path}:{number}"
            expected = "an object with named values" if array else "one object per line, or an array of objects"
            log.bad("json", where, f"a JSON {type(value).__name__}", expected)


def _one_object(head: str) -> bool:
    """Whether the first line begins an object that goes on below it."""
    first, *below = [line.strip() for line in head.split("\n") if line.strip()] or [""]
    if not below or not first.startswith("{"):
        return False
    try:
        json.loads(first)
    except json.JSONDecodeError as error:
        return error.pos >= len(first) - 1 and (first[-1] in "[{" or not below[0].startswith("{"))
    except (ValueError, RecursionError):
        return False
    return False


def _lines(file: TextFile, log: ReadLog) -> Iterator[tuple[int, Any, str]]:
    for number, line in enumerate(file.lines(), 1):
        if line is None:
            continue
        if not line.strip():
            log.blank(file.path, number)
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:  # not JSON, or a number of thousands of digits
            log.bad("json", f"{file.path}:{number}", f"not JSON ({error})", "one object per line")
        else:
            yield number, value, line


def _array(file: TextFile) -> Iterator[tuple[int, Any, str]]:
    """The elements of one array, as they are read. After a broken one there is no telling where the next begins."""
    decoder, texts = json.JSONDecoder(), file.texts()
    buffer, place, line, ended = "", 0, 1, False
    wanted = "["  # the character that comes before the next element

    def more() -> bool:
        """Reads on; what is done with is let go."""
        nonlocal buffer, place, line, ended
        line += buffer.count("\n", 0, place)
        some = next(texts, "")
        buffer, place, ended = buffer[place:] + some, 0, not some
        return not ended

    def broken(why: str, at: int) -> RegardError:
        where = f"{file.path}:{line + buffer.count(chr(10), 0, at)}"
        return RegardError(f"{where}: not JSON ({why})", expected="an array of objects", do="repair the file")

    def next_character() -> str:
        nonlocal place
        while True:
            while place < len(buffer) and buffer[place] in spaces:
                place += 1
            if place < len(buffer):
                return buffer[place]
            if not more():
                return ""

    while (found := next_character()) == wanted:
        place += 1
        if next_character() == "]" and wanted == "[":
            break
        while True:
            try:
                value, after = decoder.raw_decode(buffer, place)
                break
            except (ValueError, RecursionError) as error:
                msg, at = (error.msg, error.pos) if isinstance(error, json.JSONDecodeError) else (str(error), place)
                cut = msg.startswith("Unterminated") or at > len(buffer) - 10
                if cut and len(buffer) - place > longest:
                    raise too_long(f"{file.path}:{line + buffer.count(chr(10), 0, place)}") from None
                at -= place  # as `more` lets go of what lies before
                if not cut or not more():
                    raise broken(msg, place + at) from None
        number = line + buffer.count("\n", 0, place)
        if after - place > longest:
            raise too_long(f"{file.path}:{number}")
        yield number, value, buffer[place:after]
        place, wanted = after, ","
    if found != "]" and wanted == ",":
        raise broken("the array never ends" if not found else f"{found!r} after an object", place)
    place += 1
    if rest := next_character():
        raise broken(f"{rest!r} after the array", place)
