"""Records: fields with their values, in one line: `name[Blue Spice], eatType[pub]` (Novikova et al. 2017) or JSON.

A JSON object may hold strings, numbers, true and false; a list is its items with a comma between, an empty string or
null is a field that is not there. Inside brackets a value is taken as it stands, but for brackets: it has none.

    parse("name[Blue Spice], area[riverside]")              # [RecordField("name", "Blue Spice"), …]
    parse('{"name": "Blue Spice", "area": "riverside"}')    # the same
    write(parse(text))                                      # back to the first form
"""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from regard.errors import RegardError, brief

__all__ = ["RecordField", "mentions", "parse", "write"]

one = re.compile(r"([^\[\],]*)\[([^\[\]]*)\]\s*(?:,|$)")
brackets = {ord("["): "(", ord("]"): ")"}


class RecordField(NamedTuple):
    name: str
    value: str


def parse(text: str, where: str = "") -> list[RecordField]:
    """The fields in their order; what cannot be read is said with the place it stands at."""
    at = f"{where}: " if where else ""
    fields = _json(text, at) if text.lstrip()[:1] == "{" else _brackets(text, at)
    if not fields:
        raise RegardError(f"{at}no fields", expected="name[value], name[value] or a JSON object")
    return fields


def _brackets(text: str, at: str) -> list[RecordField]:
    fields, place = [], 0
    while place < len(text.rstrip()):
        found = one.match(text, place)
        if found is None or not found[1].strip():
            raise RegardError(
                f"{at}{text[place : place + 40].strip()!r} is not a field", expected="name[value], name[value] or JSON"
            )
        if found[2].strip():
            fields.append(RecordField(found[1].strip(), found[2].strip()))
        place = found.end()
    return fields


def _json(text: str, at: str) -> list[RecordField]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:  # not JSON, or a number of thousands of digits
        raise RegardError(f"{at}not JSON ({error})", expected="an object of fields, or name[value], …") from None
    fields = [
        RecordField(_plain(name.replace(",", " ")), _value(value, f"{at}{name!r}")) for name, value in table.items()
    ]
    if not all(field.name for field in fields):
        raise RegardError(f"{at}a field without a name", expected="a name for every value")
    return [field for field in fields if field.value]


def _value(value: Any, at: str) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_value(each, at) for each in value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is not None and not isinstance(value, str | int | float):
        raise RegardError(f"{at} is {brief(value, 40)}", expected="a string, a number, true, false or a list")
    return "" if value is None else _plain(str(value))


def _plain(text: str) -> str:
    """As it can stand in the form with brackets."""
    return " ".join(text.translate(brackets).split())


def write(fields: Iterable[RecordField]) -> str:
    return ", ".join(f"{field.name}[{field.value}]" for field in fields)


def mentions(value: str) -> re.Pattern[str]:
    """Where a text says the value: as whole words, in any case, with any white space between."""
    words = r"\s+".join(map(re.escape, value.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
