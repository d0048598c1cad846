"""Dates as people write them in some sixty locales → ISO dates: "Dienstag, 5. März 2024" → "2024-03-05".

Names, patterns and digits are those of the Unicode CLDR (through Babel): each locale's own full, long and
medium patterns, the skeletons it lists, and freer ones that people use anyway ("5-Mar-2024"). The calendar
is the Gregorian one throughout, the years are 1900 to 2099.

**Every string can be read in one way only.** Numbers alone (5/3/2024) are out, and so is a name that another
locale gives to another month (Croatian listopad is October, Polish listopad November) unless a weekday
tells them apart. See `readable` for why this holds for all strings, however their capitals and stops fall.

**The alignment is known.** A date is written field by field, so each example links the year, month and day
of its target to the characters they came from.

    Dates(train=40_000).splits().train[0]
    write(date(2024, 3, 5), "de", "EEEE, d. MMMM y").inputs  # ("Dienstag, 5. März 2024",)
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from functools import cache
from itertools import cycle, islice
from random import Random
from typing import Literal

from babel import Locale, UnknownLocaleError
from babel.dates import DateTimeFormat, tokenize_pattern

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.types import Example, Link

__all__ = ["LOCALES", "Case", "Dates", "patterns", "readable", "write"]

LOCALES = (
    *("af", "az", "ca", "cs", "cy", "da", "de", "en", "es", "et", "eu", "fi", "fr", "ga", "hr", "hu", "id", "is", "it"),
    *("lt", "lv", "nb", "nl", "pl", "pt", "ro", "sk", "sl", "sq", "sv", "sw", "tr", "vi"),  # Latin script
    *("bg", "kk", "mn", "ru", "sr", "uk", "el", "hy", "ka", "am"),  # Cyrillic, Greek, Armenian, Georgian, Ethiopic
    *("ar", "ar_EG", "ckb", "fa", "ur", "he"),  # Arabic, Hebrew
    *("hi", "mr", "ne", "bn", "gu", "ta", "te", "my", "th"),  # Devanagari, Bengali, Gujarati, Tamil, Telugu, …
    *("ja", "ko", "zh", "zh_Hant"),
)

# Patterns that people use whatever their locale's own are.
FREE = (
    *("d MMMM y", "d MMM y", "dd MMM y", "d. MMMM y", "d-MMM-y", "EEEE d MMMM y", "EEEE d MMM y", "EEE, d. MMM y"),
    *("MMMM d, y", "MMM d, y", "MMM d y", "EEEE, MMMM d, y", "EEE MMM d y", "y MMMM d", "y MMM d"),
)
SKELETONS = ("yMMMd", "yMMMEd", "yMMMMd", "yMMMMEd", "yMMMMEEEEd")

Case = Literal["as written", "lower", "capital", "upper"]
# Half as the locale writes it; "capital" is the first letter of a sentence.
CASES: tuple[Case, ...] = ("as written", "as written", "as written", "lower", "capital", "upper")
# Capitals that ask for more than Unicode's plain mapping (Turkish dots, Greek accents, …): these only go lower.
SPECIAL_CAPITALS = {"az", "el", "ga", "hy", "ka", "tr"}

# CLDR's numbering systems, by the Unicode names of their digits; Babel itself writes Latin digits only.
DIGITS = {
    "adlm": "ADLAM",
    "arab": "ARABIC-INDIC",
    "arabext": "EXTENDED ARABIC-INDIC",
    "beng": "BENGALI",
    "cakm": "CHAKMA",
    "deva": "DEVANAGARI",
    "hmnp": "NYIAKENG PUACHUE HMONG",
    "latn": "",
    "mtei": "MEETEI MAYEK",
    "mymr": "MYANMAR",
    "nkoo": "NKO",
    "olck": "OL CHIKI",
    "tibt": "TIBETAN",
}
NUMBERS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")

FIRST, LAST = Date(1900, 1, 1), Date(2099, 12, 31)
FIELDS = {"y": "year", "M": "month", "d": "day", "E": "weekday", "c": "weekday", "G": ""}
# Out: years of two digits, single letters for months (J is three of them), weekdays by number.
WIDTHS = {
    "y": (1, 3, 4),
    "M": (1, 2, 3, 4),
    "d": (1, 2),
    "E": (1, 2, 3, 4, 5, 6),
    "c": (3, 4, 5, 6),
    "G": (1, 2, 3, 4, 5),
}
# The stand-alone forms of names (LLLL, cccc) are left alone: where a locale has none of its own, Babel may answer
# with those of whichever locale was asked before (its issue 1234). Finnish has its own, and its full pattern uses them.
STAND_ALONE = {"fi"}


@dataclass(frozen=True)
class Piece:
    """One field of a pattern, or the text between two: all that it can say, by number."""

    field: str  # "year", "month", "day", "weekday"; "" is text that never changes, said by number 0
    said: dict[int, str]
    numeric: bool = False


def write(date: Date, locale: str, pattern: str, case: Case = "as written") -> Example:
    """The date as the locale writes it in a CLDR pattern, with links to its year, month and day."""
    if not FIRST <= date <= LAST:
        raise RegardError(f"the date {date}", expected=f"a date from {FIRST} to {LAST}")
    numbers = {"year": date.year, "month": date.month, "day": date.day, "weekday": date.weekday(), "": 0}
    text = ""
    spans: dict[str, tuple[int, int]] = {}
    for piece in compiled(locale, pattern):
        # Letter case may change lengths, so it is settled before the place is noted.
        said = cased(piece.said[numbers[piece.field]], case, first=not text)
        spans[piece.field] = (len(text), len(text) + len(said))
        text += said
    links = (Link(0, 4, *spans["year"]), Link(5, 7, *spans["month"]), Link(8, 10, *spans["day"]))
    return Example((text,), date.isoformat(), "builtin:dates", links)


def cased(text: str, case: Case, first: bool) -> str:
    if case == "lower":
        return text.lower()
    if case == "upper":
        return text.upper()
    if case == "capital" and first:
        return text[:1].title() + text[1:]
    return text


@cache
def _locale(name: str) -> Locale:
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError):
        raise RegardError(f"unknown locale {name!r}", expected="a CLDR locale such as 'de' or 'zh_Hant'") from None


@cache
def _digits(locale: str) -> dict[int, str]:
    """Latin digits → those the locale writes by default."""
    system = _locale(locale).default_numbering_system
    if system not in DIGITS:
        raise RegardError(f"{locale}: unknown digits {system!r}", expected=f"one of {', '.join(DIGITS)}")
    return {48 + i: unicodedata.lookup(f"{DIGITS[system]} DIGIT {number}".strip()) for i, number in enumerate(NUMBERS)}


@cache
def _said(locale: str, field: str) -> Piece:
    """What a field such as "MMMM" says for every number it can have."""
    letter, width = field[0], len(field)
    if width not in WIDTHS.get(letter, ()) or (letter == "c" and locale not in STAND_ALONE):
        raise RegardError(f"field {field!r} of a date pattern", expected="a day, a named weekday, a month, a full year")
    name = FIELDS[letter]
    days = {  # a day for each number; 1 January 2024 was a Monday
        "year": {year: Date(year, 1, 1) for year in range(FIRST.year, LAST.year + 1)},
        "month": {month: Date(2024, month, 1) for month in range(1, 13)},
        "day": {day: Date(2024, 1, day) for day in range(1, 32)},
        "weekday": {day: Date(2024, 1, 1 + day) for day in range(7)},
        "": {0: FIRST},
    }[name]
    numeric = name in ("year", "day") or (name == "month" and width < 3)
    digits = _digits(locale) if numeric else {}
    said = {n: DateTimeFormat(day, _locale(locale))[field].translate(digits) for n, day in days.items()}
    return Piece(name, said, numeric)


@cache
def compiled(locale: str, pattern: str) -> tuple[Piece, ...]:
    pieces = []
    for kind, value in tokenize_pattern(pattern):
        pieces.append(_said(locale, value[0] * int(value[1])) if kind == "field" else Piece("", {0: str(value)}))
    if any([piece.field for piece in pieces].count(field) != 1 for field in ("year", "month", "day")):
        raise RegardError(f"date pattern {pattern!r}", expected="one year, one month and one day, as in 'd MMMM y'")
    return tuple(pieces)


@cache
def patterns(locale: str) -> tuple[str, ...]:
    """The patterns in which a locale's dates are written here, its own first; none says the month by number alone."""
    parsed = _locale(locale)
    own = [parsed.date_formats[width].pattern for width in ("full", "long", "medium")]
    own += [parsed.datetime_skeletons[key].pattern for key in SKELETONS if key in parsed.datetime_skeletons]
    if any(re.search(r"\d", name) for name in _said(locale, "MMM").said.values()):
        # Where months go by number (3月, tháng 3), orders other than the locale's own are not used; zeros may be.
        free = [re.sub(r"(?<!M)M(?!M)", "MM", re.sub(r"(?<!d)d(?!d)", "dd", pattern)) for pattern in own]
    else:
        free = list(FREE)
    return tuple(pattern for pattern in dict.fromkeys(own + free) if _says_month(locale, pattern))


def _says_month(locale: str, pattern: str) -> bool:
    """Whether the month has a name, or a number that a word makes a month, as in 3月."""
    try:
        pieces = compiled(locale, pattern)
    except RegardError:  # a locale may have a pattern that is of no use here, say with a year of two digits
        return False
    at = next(i for i, piece in enumerate(pieces) if piece.field == "month")
    after = pieces[at + 1].said.get(0, "") if at + 1 < len(pieces) else ""
    return not pieces[at].numeric or after[:1].isalpha()


class _Plain(dict[int, str]):
    """Characters without case, style or script of digits; what is neither letter nor digit is a space."""

    def __missing__(self, code: int) -> str:
        char, kind = chr(code), unicodedata.category(chr(code))
        if char.isdecimal():
            plain = str(unicodedata.decimal(char))
        elif kind[0] in "LMN":
            plain = unicodedata.normalize("NFKC", char).casefold()
        else:
            plain = "" if kind == "Cf" else " "  # marks of direction and joiners are not seen
        self[code] = plain
        return plain


_plain = _Plain()


@cache
def _marked(text: str) -> str:
    """The text without case, stops and digits: Y for a number of four digits, # for any other."""
    return re.sub(r"[0-9]+", lambda run: "Y" if len(run[0]) == 4 else "#", text.translate(_plain))


@cache
def readable() -> dict[str, dict[int, tuple[str, ...]]]:
    """For each locale and month, the patterns whose strings can be read in one way only.

    A string's template (numbers marked, stops and spaces made one space) follows from the string alone. What
    a template means is which of its numbers is the year, the month and the day, or the month itself where it
    has a name. String and meaning together give the date. So two dates can share a string only if its template
    has two meanings; and a pattern is not used for a month in which that happens on any day of the week.
    A locale that is left without a way to write some month is left out.
    """
    meanings: dict[str, set[tuple[int | str, ...]]] = {}
    uses: list[tuple[str, str, int, set[str]]] = []
    for locale in LOCALES:
        for pattern in patterns(locale):
            for month in range(1, 13):
                found = list(templates(compiled(locale, pattern), month))
                for key, meaning in found:
                    meanings.setdefault(key, set()).add(meaning)
                uses.append((locale, pattern, month, {key for key, _ in found}))
    kept: dict[str, dict[int, tuple[str, ...]]] = {locale: dict.fromkeys(range(1, 13), ()) for locale in LOCALES}
    for locale, pattern, month, keys in uses:
        # Two numbers that touch would be read as one.
        if all(len(meanings[key]) == 1 and not re.search("[Y#]{2}", key) for key in keys):
            kept[locale][month] += (pattern,)
    return {locale: months for locale, months in kept.items() if all(months.values())}


def templates(pieces: tuple[Piece, ...], month: int) -> Iterable[tuple[str, tuple[int | str, ...]]]:
    """Every template of a pattern in one month, with its meaning."""
    weekday = next((piece for piece in pieces if piece.field == "weekday"), None)
    for day in weekday.said if weekday else (0,):
        numbers = {"year": FIRST.year, "month": month, "day": 1, "weekday": day, "": 0}
        marked = [_marked(piece.said[numbers[piece.field]]) for piece in pieces]
        roles = [piece.field for piece, text in zip(pieces, marked, strict=True) for mark in text if mark in "Y#"]
        yield " ".join("".join(marked).split()), (*roles, 0 if "month" in roles else month)


class Dates(Builtin):
    """Dates in about sixty locales → ISO dates (translate).

    The days of 1900 to 2099 are dealt out at random once a seed: 80 % to train, 5 % to valid, 15 % to test,
    whatever the sizes asked for. So a day of the test is never met in training, in no locale; and every
    locale has its equal share of every split.
    """

    def __init__(
        self, train: TrainSize = 40_000, valid: ValidSize = 1_000, test: TestSize = 2_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def splits(self) -> Splits:
        days = [FIRST + timedelta(days=i) for i in range((LAST - FIRST).days + 1)]
        Random(self.seed).shuffle(days)
        valid, test = len(days) * 80 // 100, len(days) * 85 // 100
        return Splits(
            train=self._make("train", self.train, days[:valid]),
            valid=self._make("valid", self.valid, days[valid:test]),
            test=self._make("test", self.test, days[test:]),
        )

    def _make(self, split: str, size: int, days: list[Date]) -> list[Example]:
        rng = Random(f"{self.seed} {split}")  # a string is hashed by SHA-512: the same in every process
        ways = readable()
        locales = list(islice(cycle(rng.sample(list(ways), len(ways))), size))
        rng.shuffle(locales)
        examples = []
        for locale, day in zip(locales, cycle(days), strict=False):
            pattern = rng.choice(ways[locale][day.month])
            case = rng.choice(CASES[:4] if locale in SPECIAL_CAPITALS else CASES)
            examples.append(write(day, locale, pattern, case))
        return examples
