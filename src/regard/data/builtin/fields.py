"""Dates as people write them → what each character belongs to: "5 Mar …" → "B-day O B-month I-month I-month …".

The dates are those of `dates`. The target has one label a character, spaces included, with one space between: `B-`
begins a day, month, year or weekday, `I-` goes on with it (Ramshaw & Marcus 1995), and `O` is the rest: commas,
words such as the "de" of "5 de marzo de 2024", eras. Where a month goes by number (3月, tháng 3), only its digits
are the month, whether the locale calls "3월" a name or a number with a word after it: the same string always has
the same labels.

    Fields(train=20_000).splits().train[0]
    label(date(2024, 3, 5), "en", "d MMM y")
"""

from datetime import date as Date
from itertools import cycle, islice
from random import Random

from regard.data.builtin import dates
from regard.data.builtin._builtin import DataSeed, TestSize, TrainSize, ValidSize
from regard.data.builtin.dates import CASES, SPECIAL_CAPITALS, Case, Dates, readable
from regard.types import Example

__all__ = ["Fields", "label"]


def label(date: Date, locale: str, pattern: str, case: Case = "as written") -> Example:
    """The date as `dates.write` writes it, with a label for each of its characters."""
    text = dates.write(date, locale, pattern, case).source
    numbers = {"year": date.year, "month": date.month, "day": date.day, "weekday": date.weekday(), "": 0}
    labels: list[str] = []
    for piece in dates.compiled(locale, pattern):
        said = dates.cased(piece.said[numbers[piece.field]], case, first=not labels)
        labels += _labels(piece.field, said)
    return Example((text,), " ".join(labels), "builtin:fields")


def _labels(field: str, said: str) -> list[str]:
    inside = [bool(field)] * len(said)
    if field == "month" and any(map(str.isdecimal, said)):
        inside = [char.isdecimal() for char in said]
    labels = []
    for at, here in enumerate(inside):
        begins = here and not (at and inside[at - 1])
        labels.append(f"{'B' if begins else 'I'}-{field}" if here else "O")
    return labels


class Fields(Dates):
    """Dates → the field of each character: day, month, year or weekday (tag)."""

    def __init__(
        self, train: TrainSize = 20_000, valid: ValidSize = 1_000, test: TestSize = 2_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, days: list[Date]) -> list[Example]:
        rng = Random(f"{self.seed} fields {split}")
        ways = readable()
        locales = list(islice(cycle(rng.sample(list(ways), len(ways))), size))
        rng.shuffle(locales)
        examples = []
        for locale, day in zip(locales, cycle(days), strict=False):
            pattern = rng.choice(ways[locale][day.month])
            case = rng.choice(CASES[:4] if locale in SPECIAL_CAPITALS else CASES)
            examples.append(label(day, locale, pattern, case))
        return examples
