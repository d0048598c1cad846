"""Dates as people write them → the language they are written in: "Dienstag, 5. März 2024" → "de".

The dates are those of `dates`; several locales of one language (zh, zh_Hant) are one label, and every label has
its equal share. Some strings are written alike in two languages ("5 april 2024" is Danish, Dutch, English,
Swedish, …): they are not used. The weekday often tells the languages apart, so whether a pattern is used depends
on the month and on the weekday.

    Languages(train=20_000).splits().train[0]
    ways()["nl"][4, 1]  # the patterns in which a Tuesday in April can be Dutch and nothing else
"""

from datetime import date as Date
from functools import cache
from itertools import cycle, islice
from random import Random

from regard.data.builtin._builtin import DataSeed, TestSize, TrainSize, ValidSize
from regard.data.builtin.dates import CASES, LOCALES, SPECIAL_CAPITALS, Dates, compiled, patterns, readable, templates
from regard.data.builtin.dates import write as write_date
from regard.types import Example

__all__ = ["Languages", "language", "ways"]

Ways = dict[tuple[int, int], tuple[str, ...]]


def language(locale: str) -> str:
    """ "zh_Hant" → "zh"."""
    return locale.partition("_")[0]


@cache
def ways() -> dict[str, Ways]:
    """For each locale, by month and weekday (Monday is 0): the patterns whose strings belong to one language.

    A string's template (see `dates.readable`) follows from the string alone, whatever its capitals and stops. So a
    string can be of two languages only if its template is. What a language *could* write counts against another
    even where it is not used here. A locale that is left without a way to write some month is left out.
    """
    speakers: dict[str, set[str]] = {}
    uses: list[tuple[str, str, int, list[str]]] = []
    for locale in LOCALES:
        for pattern in patterns(locale):
            for month in range(1, 13):
                keys = [key for key, _ in templates(compiled(locale, pattern), month)]
                for key in keys:
                    speakers.setdefault(key, set()).add(language(locale))
                uses.append((locale, pattern, month, keys * (7 // len(keys))))  # one, or one for each weekday
    clear = readable()
    kept: dict[str, Ways] = {locale: {} for locale in clear}
    for locale, pattern, month, keys in uses:
        if pattern in clear.get(locale, {}).get(month, ()):
            for weekday, key in enumerate(keys):
                if len(speakers[key]) == 1:
                    kept[locale][month, weekday] = (*kept[locale].get((month, weekday), ()), pattern)
    return {locale: found for locale, found in kept.items() if len({month for month, _ in found}) == 12}


class Languages(Dates):
    """Dates → the language they are written in (classify)."""

    def __init__(
        self, train: TrainSize = 20_000, valid: ValidSize = 1_000, test: TestSize = 2_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, days: list[Date]) -> list[Example]:
        rng = Random(f"{self.seed} languages {split}")
        known = ways()
        locales: dict[str, list[str]] = {}
        for locale in known:
            locales.setdefault(language(locale), []).append(locale)
        labels = list(islice(cycle(rng.sample(list(locales), len(locales))), size))
        rng.shuffle(labels)
        dealt = cycle(days)
        examples = []
        for label in labels:
            locale = rng.choice(locales[label])
            # A day that this locale cannot write in a way of its own is passed over.
            day = next(day for day in dealt if (day.month, day.weekday()) in known[locale])
            pattern = rng.choice(known[locale][day.month, day.weekday()])
            case = rng.choice(CASES[:4] if locale in SPECIAL_CAPITALS else CASES)
            text = write_date(day, locale, pattern, case).source
            examples.append(Example((text,), label, "builtin:languages"))
        return examples
