"""Dates are written as Babel writes them, can be read in one way only, and their links are true."""

import hashlib
import os
import random
import subprocess
import sys
import unicodedata
from collections import Counter
from datetime import date, timedelta
from itertools import groupby

import pytest
from babel.dates import format_date

from regard.data.builtin import dates
from regard.data.builtin.dates import LOCALES, Dates, patterns, readable, write
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.types import Example, Link


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Dates().splits()


def days_of(*years: int) -> list[date]:
    return [day for year in years for i in range(366) if (day := date(year, 1, 1) + timedelta(days=i)).year == year]


def linked(example: Example) -> dict[str, str]:
    """The characters that the year, month and day are said to come from."""
    texts = [example.source[link.source_start : link.source_end] for link in example.links]
    return dict(zip(("year", "month", "day"), texts, strict=True))


def test_a_german_date_by_hand():
    #                 0         1         2
    #                 0123456789012345678901
    assert write(date(2024, 3, 5), "de", "EEEE, d. MMMM y") == Example(
        inputs=("Dienstag, 5. März 2024",),
        target="2024-03-05",
        where="builtin:dates",
        links=(Link(0, 4, 18, 22), Link(5, 7, 13, 17), Link(8, 10, 10, 11)),
    )


def test_a_day_that_also_stands_in_the_year_is_linked_to_its_own_place():
    example = write(date(2020, 10, 20), "en", "y MMM d")
    assert example.source == "2020 Oct 20"
    assert example.links == (Link(0, 4, 0, 4), Link(5, 7, 5, 8), Link(8, 10, 9, 11))


@pytest.mark.parametrize(
    ("locale", "pattern", "text"),
    [
        ("fa", "EEEE d MMMM y", "سه‌شنبه ۵ مارس ۲۰۲۴"),  # extended Arabic digits, and a joiner that stays
        ("ar_EG", "d MMMM y", "٥ مارس ٢٠٢٤"),
        ("bn", "d MMMM, y", "৫ মার্চ, ২০২৪"),
        ("mr", "dd MMM y", "०५ मार्च २०२४"),
        ("he", "d בMMMM y", "5 במרץ 2024"),
        ("ja", "y年M月d日(E)", "2024年3月5日(火)"),
        ("th", "EEEEที่ d MMMM G y", "วันอังคารที่ 5 มีนาคม ค.ศ. 2024"),
        ("fi", "cccc d. MMMM y", "tiistai 5. maaliskuuta 2024"),
    ],
)
def test_scripts_and_digits(locale: str, pattern: str, text: str):
    assert write(date(2024, 3, 5), locale, pattern).source == text


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("as written", "mardi 5 mars 2024"),
        ("lower", "mardi 5 mars 2024"),
        ("capital", "Mardi 5 mars 2024"),
        ("upper", "MARDI 5 MARS 2024"),
    ],
)
def test_letter_case(case: dates.Case, text: str):
    assert write(date(2024, 3, 5), "fr", "EEEE d MMMM y", case).source == text


def test_letter_case_that_changes_lengths_keeps_the_links_true():
    assert linked(write(date(2024, 3, 5), "de", "'ß' MMMM d y", "upper")) == {
        "year": "2024",
        "month": "MÄRZ",
        "day": "5",
    }


@pytest.mark.parametrize("locale", LOCALES)
def test_equals_babel_up_to_the_script_of_digits(locale: str):
    def latin(text: str) -> str:
        return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)

    for day in random.Random(locale).sample(days_of(1900, 1987, 2024, 2099), 12):
        for pattern in patterns(locale):
            assert latin(write(day, locale, pattern).source) == format_date(day, pattern, locale)


def test_locales_own_patterns_are_used():
    for locale in ("en", "fr", "ru", "bn"):  # none of these has a form of numbers alone
        for width in ("full", "long", "medium"):
            expected = format_date(date(2024, 3, 5), width, locale).translate(dates._digits(locale))
            written = [write(date(2024, 3, 5), locale, pattern).source for pattern in patterns(locale)]
            assert expected in written


@pytest.mark.sweep
def test_the_whole_set_is_babels_and_its_links_are_true(splits: Splits):
    for example in [*splits.train, *splits.valid, *splits.test]:
        day = date.fromisoformat(example.target)
        assert 1900 <= day.year <= 2099
        said = linked(example)
        assert int(said["year"]) == day.year  # int reads digits of any script
        assert len(said["year"]) == 4
        assert int(said["day"]) == day.day
        numbers = ["".join(run) for digit, run in groupby(said["month"], str.isdecimal) if digit]
        assert numbers == [] or int(numbers[0]) == day.month
        assert [(k.target_start, k.target_end) for k in example.links] == [(0, 4), (5, 7), (8, 10)]
        assert example.where == "builtin:dates"


@pytest.mark.sweep
def test_a_linked_month_name_is_the_name_of_that_month():
    for locale in LOCALES:
        for day in (date(1999, month, 28) for month in range(1, 13)):
            for pattern in patterns(locale):
                width = next(w for w in ("MMMM", "MMM", "MM", "M") if w in pattern)
                month = linked(write(day, locale, pattern))["month"]
                assert month == format_date(day, width, locale)


def strings(ways: dict[str, dict[int, tuple[str, ...]]], days: list[date]) -> tuple[int, list[str]]:
    """How many strings these ways have to write the days, and those that two days share, without case and stops."""
    seen: dict[str, int] = {}
    shared = []
    stops = dict.fromkeys(map(ord, ".,،-‏"), None)
    for locale, months in ways.items():
        for day in days:
            numbers = {"year": day.year, "month": day.month, "day": day.day, "weekday": day.weekday(), "": 0}
            for pattern in months[day.month]:
                # as `write` does, without the links, for there are many
                text = "".join([p.said[numbers[p.field]] for p in dates.compiled(locale, pattern)])
                text = text.casefold().translate(stops)
                if seen.setdefault(text, day.toordinal()) != day.toordinal():
                    shared.append(text)
    return len(seen), shared


@pytest.mark.sweep
def test_no_string_is_two_dates_by_brute_force():
    # years that look like two days side by side
    count, shared = strings(readable(), days_of(1910, 2011, 2012))
    assert count > 500_000
    assert shared == []


def test_brute_force_would_find_listopad():
    ways = {locale: dict.fromkeys(range(1, 13), patterns(locale)) for locale in ("cs", "hr", "pl")}
    _, shared = strings(ways, days_of(2011))
    assert "5 listopada 2011" in shared  # October in Croatian, November in Polish
    assert "5 srp 2011" in shared  # July in Croatian, August in Czech


def test_what_is_ambiguous_is_left_out_and_the_rest_is_kept():
    ways = readable()
    assert "d MMMM y" not in ways["pl"][11]
    assert "d. MMMM y." not in ways["hr"][10]
    assert "EEEE, d MMMM y" in ways["pl"][11]  # the weekday is Polish, so the month is
    assert "d MMMM y" in ways["pl"][10]
    assert "y年M月d日" in ways["zh"][3]
    for locale, pattern in (("de", "dd.MM.y"), ("lt", "y-MM-dd"), ("ja", "y/MM/dd"), ("bg", "d.MM.y\u202f'г'.")):
        assert pattern not in patterns(locale)


def test_letter_case_leaves_the_reading_alone():
    """What `readable` proves without case holds for every case that is used."""
    days = [date(2024, month, 1) for month in range(1, 13)]  # all months, all days of the week
    assert {day.weekday() for day in days} == set(range(7))
    for locale in LOCALES:
        for case in set(dates.CASES[:4] if locale in dates.SPECIAL_CAPITALS else dates.CASES) - {"as written"}:
            for day in days:
                for pattern in ("EEEE d MMMM y", "MMM d y EEE"):
                    plain, cased = (write(day, locale, pattern, c).source for c in ("as written", case))
                    assert dates._marked(plain) == dates._marked(cased)


@pytest.mark.sweep
def test_sizes(splits: Splits):
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [40_000, 1_000, 2_000]


def test_every_split_has_its_share_of_every_locale(monkeypatch: pytest.MonkeyPatch):
    assert len(LOCALES) == len(set(LOCALES)) >= 40
    assert set(readable()) == set(LOCALES)
    monkeypatch.setattr(dates, "write", lambda day, locale, *_: Example((locale,), day.isoformat()))
    made = Dates(4_000, 200, 500).splits()
    for part in (made.train, made.valid, made.test):
        counts = Counter(example.source for example in part)
        assert len(counts) == len(LOCALES)
        assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.sweep
def test_days_are_disjoint_whatever_the_sizes(splits: Splits, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dates, "write", lambda day, *_: Example(("",), day.isoformat()))  # the days alone, quickly
    # More of each than there are days: every day from 1900 to 2099 is in one split, and in one only.
    whole = Dates(train=60_000, valid=4_000, test=12_000).splits()
    train, valid, test = ({e.target for e in part} for part in (whole.train, whole.valid, whole.test))
    assert len(train | valid | test) == len(train) + len(valid) + len(test) == 200 * 365 + 49
    assert {e.target for e in splits.train} <= train
    assert {e.target for e in splits.valid} <= valid
    assert {e.target for e in splits.test} <= test


@pytest.mark.sweep
def test_every_month_name_is_met_in_training(splits: Splits):
    met = {(e.target[5:7], linked(e)["month"].casefold()) for e in splits.train}
    for locale, months in readable().items():
        for month, ways in months.items():
            for piece in {id(p): p for way in ways for p in dates.compiled(locale, way) if p.field == "month"}.values():
                assert (f"{month:02}", piece.said[month].casefold()) in met, (locale, month)


@pytest.mark.sweep
def test_native_digits_occur(splits: Splits):
    scripts = {unicodedata.name(c).partition(" DIGIT")[0] for e in splits.test for c in e.source if c.isdecimal()}
    assert {"ARABIC-INDIC", "EXTENDED ARABIC-INDIC", "BENGALI", "DEVANAGARI", "MYANMAR"} <= scripts


DIGEST = """
import hashlib, time
from datetime import date
from babel.dates import format_date
for locale in ("he", "zh", "vi", "pl", "ja", "az"):  # used first on purpose: Babel remembers what it resolved
    format_date(date(2024, 3, 5), "cccc LLLL LLL", locale)
from regard.data.builtin.dates import Dates
start = time.process_time()
splits = Dates().splits()
seconds = time.process_time() - start
print(hashlib.sha256(repr(splits).encode()).hexdigest(), seconds)
"""


@pytest.mark.sweep
def test_the_same_in_another_process_and_quickly(splits: Splits):
    here = hashlib.sha256(repr(splits).encode()).hexdigest()
    env = {**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "C"}
    run = subprocess.run([sys.executable, "-c", DIGEST], env=env, capture_output=True, text=True, check=True)
    there, seconds = run.stdout.split()
    assert there == here
    assert float(seconds) < 4


def test_another_seed_is_another_set():
    one, two = (Dates(50, 0, 0, seed=seed).splits().train for seed in (1, 2))
    assert one != two
    assert one == Dates(50, 0, 0, seed=1).splits().train


@pytest.mark.parametrize(
    ("locale", "pattern", "message"),
    [
        ("xx_Nowhere", "d MMMM y", "unknown locale 'xx_Nowhere'"),
        ("", "d MMMM y", "unknown locale ''"),
        ("de", "d MMMM yy", "field 'yy'"),
        ("de", "d MMMMM y", "field 'MMMMM'"),
        ("de", "d LLLL y", "field 'LLLL'"),
        ("de", "cccc d MMMM y", "field 'cccc'"),
        ("de", "HH:mm d MMMM y", "field 'HH'"),
        ("de", "MMMM y", "date pattern 'MMMM y'"),
    ],
)
def test_what_cannot_be_written(locale: str, pattern: str, message: str):
    with pytest.raises(RegardError, match=message):
        write(date(2024, 3, 5), locale, pattern)


def test_what_cannot_be_asked():
    with pytest.raises(RegardError, match="the date 1899-12-31"):
        write(date(1899, 12, 31), "de", "d MMMM y")
    with pytest.raises(RegardError, match="valid: got -1"):
        Dates(valid=-1)
