"""Edit distance: the fewest words (or characters) to replace, insert or delete.

edits("the cat sat".split(), "a cat sat down".split())       # 2

Levenshtein 1966; a row of the table at a time (Wagner & Fischer 1974).
"""

from collections.abc import Callable, Sequence

import numpy as np

from regard.measure import Results

__all__ = ["edits", "error_rates"]


def edits(written: Sequence[str], wanted: Sequence[str]) -> int:
    numbers = {one: number for number, one in enumerate({*written, *wanted})}
    a, b = (np.array([numbers[one] for one in side], dtype=np.int64) for side in (written, wanted))
    place = np.arange(len(b) + 1)
    row = place.copy()
    for one in a:
        replaced = row[:-1] + (b != one)
        row = row + 1
        row[1:] = np.minimum(row[1:], replaced)
        row = np.minimum.accumulate(row - place) + place  # insertions, from left to right
    return int(row[-1])


def error_rates(results: Results, split: Callable[[str], Sequence[str]]) -> list[tuple[int, int]]:
    """For each example the edits and the length of the reference that needs fewest."""
    found = []
    for example, prediction in results.pairs():
        written = split(prediction.text)
        sides = [split(text) for text in example.references]
        found.append(min(((edits(written, wanted), len(wanted)) for wanted in sides), key=lambda one: one[0]))
    return found
