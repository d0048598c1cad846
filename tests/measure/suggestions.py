"""Six messages and what became of them, for measures of suggested replies."""

from regard.measure import Results, Suggested
from regard.types import Example, Prediction

__all__ = ["SILENT", "TOLD", "results"]

TOLD = [
    Suggested(True, 0, False, ("accept", "decline", "check"), exact=True, alike=True),
    Suggested(True, 3, False, ("accept", "decline"), alike=True),
    Suggested(True, None, False, ("thank",)),  # its reply is none of the allowed
    Suggested(True, 1, True, ()),  # sensitive, and silent
    Suggested(False, None, True, ("accept",)),  # sensitive, and a suggestion all the same
    Suggested(True, 4, False, ()),  # silent where a suggestion was wanted
]


def results(told: list[Suggested]) -> Results:
    return Results([Example(("m",), "r")] * len(told), [Prediction("", None)] * len(told), suggested=told)


SILENT = results([Suggested(False, None, False, ())])
