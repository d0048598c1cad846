"""Ranges of options, declared with their type: `dropout: Dropout = 0.1`, `hidden: Width = 256`.

`regard.find` checks them whenever options are read, and `regard list` shows them. `@ranged` on a constructor checks
them for parts that are built directly in Python. Upper bounds are far above anything in use; they turn a typo
(`hidden=2560000000`) into one line instead of an out-of-memory error.

    heads: Annotated[int, Range(1, 1024), "attention heads"] = 8
    hidden: Annotated[Width, "units of the hidden state"] = 256

The string describes the option in one sentence: what it does, and its unit. `regard list` and error messages show it.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, get_args, get_origin

from regard.errors import RegardError, brief

__all__ = [
    *("BatchSize", "BelowOne", "Count", "Depth", "Dropout", "Examples", "Few", "FewOrNone", "Hypotheses", "Length"),
    *("LengthOrNone", "NonNegative", "Number", "Positive", "Probability", "Range", "Seed", "Temperature", "Vocabulary"),
    *("Width", "WidthOrNone", "explained", "range_of", "ranged", "sentence_of", "within"),
]


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, inclusive unless `above` or `below` is set. NaN is in no range."""

    low: int | float
    high: int | float
    above: bool = False
    below: bool = False

    def __contains__(self, value: int | float) -> bool:
        high_enough = value > self.low if self.above else value >= self.low
        return high_enough and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low, high = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (self.low, self.high))
        if self.above:
            return f"above {low} and {'below' if self.below else 'at most'} {high}"
        return f"from {low} to {'below ' if self.below else ''}{high}"

    def json(self) -> dict[str, int | float]:
        """The bounds under the names of JSON Schema."""
        lowest = "exclusiveMinimum" if self.above else "minimum"
        return {lowest: self.low, "exclusiveMaximum" if self.below else "maximum": self.high}


Width = Annotated[int, Range(1, 2**16)]
"""How many numbers a vector has."""
WidthOrNone = Annotated[int, Range(0, 2**16)]
Depth = Annotated[int, Range(1, 1000)]
Few = Annotated[int, Range(1, 1024)]
"""Heads, rows of attention, tokens that a filter sees."""
FewOrNone = Annotated[int, Range(0, 1024)]
Length = Annotated[int, Range(1, 10**6)]
"""Tokens of one text."""
LengthOrNone = Annotated[int, Range(0, 10**6)]
Vocabulary = Annotated[int, Range(5, 10**7)]
"""How many tokens are known, the four special ones counted."""
Examples = Annotated[int, Range(0, 10**6)]
"""Of data that is made."""
BatchSize = Annotated[int, Range(0, 10**7)]
"""Tokens or examples of a batch; 0 sets no limit."""
Hypotheses = Annotated[int, Range(1, 1000)]
Count = Annotated[int, Range(0, 10**9)]
"""How many of something; what 0 means, the option says."""
Number = Annotated[int, Range(1, 10**9)]
"""How many of something, at least one."""
Seed = Annotated[int, Range(0, 2**63 - 1)]
Probability = Annotated[float, Range(0, 1)]
BelowOne = Annotated[float, Range(0, 1, below=True)]
Dropout = BelowOne
"""The share that is left out: never all of it."""
NonNegative = Annotated[float, Range(0, 10**6)]
"""How much something counts; 0 switches it off."""
Positive = Annotated[float, Range(0, 10**6, above=True)]
Temperature = Annotated[float, Range(1e-6, 10**6)]
"""What logits are divided by; below this they would overflow."""


def range_of(kind: Any) -> Range | None:
    """The range that an annotation carries."""
    if get_origin(kind) is not Annotated:
        return None
    return next((mark for mark in get_args(kind)[1:] if isinstance(mark, Range)), None)


def sentence_of(kind: Any) -> str:
    """The sentence that an annotation carries: its last plain string, as one around another says more."""
    marks = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((mark for mark in reversed(marks) if isinstance(mark, str)), "")


def explained(expected: str, sentence: str) -> str:
    """The expected values, for a message, with the option's sentence."""
    return f"{expected} ({sentence})" if sentence else expected


def within(name: str, value: Any, kind: Any) -> None:
    """Raises if a number is outside its range."""
    if (allowed := range_of(kind)) and value not in allowed:
        plain_kind = get_args(kind)[0]  # int, float, or one of them or None
        number = "a whole number" if int in (plain_kind, *get_args(plain_kind)) else "a number"
        raise RegardError(f"{name}: got {brief(value)}", expected=explained(f"{number} {allowed}", sentence_of(kind)))


P = ParamSpec("P")


def ranged(make: Callable[P, None]) -> Callable[P, None]:
    """Decorates a constructor: numbers outside the ranges of its signature raise."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            within(name, value, signature.parameters[name].annotation)
        make(*args, **kwargs)

    return checked
