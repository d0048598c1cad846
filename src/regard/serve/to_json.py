"""JSON as bytes, in pieces, since json.dumps holds the interpreter lock until it is done.

A look of a long text under many heads is a million numbers, half a second of writing. Here no single call writes more
than `some` of them, so whoever answers requests meanwhile waits for milliseconds.

    to_json({"heads": [[0.1, 0.9]]})  →  b'{"heads":[[0.1,0.9]]}'
"""

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["to_json"]

some = 2_048


def to_json(value: Any) -> bytes:
    """The same text json.dumps would write, in UTF-8, without spaces; numbers that JSON does not know are errors."""
    return "".join(_pieces(value)).encode()


def _pieces(value: Any) -> Iterator[str]:
    if _size(value) <= some or not isinstance(value, dict | list | tuple):
        yield _dumps(value)
    elif isinstance(value, dict):
        for number, (key, one) in enumerate(value.items()):
            yield f"{',' if number else '{'}{_dumps(str(key))}:"
            yield from _pieces(one)
        yield "}"
    elif any(isinstance(one, dict | list | tuple) for one in value):
        for number, one in enumerate(value):
            yield "," if number else "["
            yield from _pieces(one)
        yield "]"
    else:
        for start in range(0, len(value), some):
            yield "," if start else "["
            yield _dumps(value[start : start + some])[1:-1]
        yield "]"


def _size(value: Any) -> int:
    """About how many values there are to write; of a list its first says what the others are."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if not isinstance(value, list | tuple) or not value:
        return 1
    if isinstance(value[0], list | tuple):
        return sum(map(_size, value))
    return len(value) * _size(value[0])


_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
