"""Errors for users.

A `RegardError` is one line: what was given, what was expected, what to do. The command line prints it
and exits with code 2; in Python it is a `ValueError`.

    raise RegardError("train.tsv:12: 3 fields", expected="2 (source, target)", do="remove the extra tab")
"""

from collections.abc import Sequence

__all__ = ["RegardError", "brief", "counted", "listed"]


def counted(number: int, what: str) -> str:
    """1 example, 2,000 examples"""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listed(names: Sequence[str]) -> str:
    """a, b and c"""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def brief(value: object, most: int = 80) -> str:
    """The repr of a value for a message, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of over 4,300 digits
        return "a number with thousands of digits"
    except RecursionError:
        return "a value nested too deeply"
    return text if len(text) <= most else f"{text[: most - 1]}…"


class RegardError(ValueError):
    """One clear line. `got` says what was given (and where); the rest is optional."""

    def __init__(self, got: str, *, expected: str = "", do: str = "") -> None:
        parts = [got]
        if expected:
            parts.append(f"expected {expected}")
        if do:
            parts.append(do)
        super().__init__("; ".join(" ".join(part.split()) for part in parts))
