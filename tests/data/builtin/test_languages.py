"""The language of a date: one answer for every string, equal shares, days apart."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta

import pytest

from regard.data.builtin import dates, languages
from regard.data.builtin.languages import Languages, language, ways
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.types import Example


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Languages().splits()


def test_ways_by_hand() -> None:
    # Tuesday is dinsdag in Dutch and in Afrikaans, and April is April in both; Friday is vrijdag and Vrydag.
    tuesday, friday = 1, 4
    assert "EEEE d MMMM y" not in ways()["nl"].get((4, tuesday), ())
    assert "EEEE d MMMM y" in ways()["nl"][4, friday]
    assert "EEEE d MMMM y" in ways()["af"][4, friday]
    assert "d MMMM y" not in ways()["en"].get((4, friday), ())  # 5 april
    assert "d MMMM y" in ways()["fr"][7, friday]  # 5 juillet
    assert "y年M月d日" not in ways()["zh"].get((3, friday), ())  # Japanese too
    assert any("E" in pattern for pattern in ways()["zh"][3, friday])


def test_locales_of_one_language_are_one_label() -> None:
    assert language("zh_Hant") == "zh"
    assert set(ways()) == set(dates.LOCALES)  # so far no locale had to be left out
    assert len({language(locale) for locale in ways()}) == len(dates.LOCALES) - 2


@pytest.mark.sweep
def test_no_string_is_of_two_languages_by_brute_force() -> None:
    """Whatever is used against whatever any locale can write, without case and stops, on all days of a year."""
    stops = dict.fromkeys(map(ord, ".,،-‏"), None)
    days = [date(2012, 1, 1) + timedelta(days=i) for i in range(366)]
    could: dict[str, set[str]] = {}
    used: dict[str, str] = {}
    for locale in dates.LOCALES:
        for pattern in dates.patterns(locale):
            pieces = dates.compiled(locale, pattern)
            for day in days:
                numbers = {"year": day.year, "month": day.month, "day": day.day, "weekday": day.weekday(), "": 0}
                text = "".join([p.said[numbers[p.field]] for p in pieces]).casefold().translate(stops)
                could.setdefault(text, set()).add(language(locale))
                if pattern in ways()[locale].get((day.month, day.weekday()), ()):
                    used[text] = language(locale)
    assert len(used) > 100_000
    assert sum(len(speakers) > 1 for speakers in could.values()) > 10_000  # there is something to leave out
    assert [text for text, label in used.items() if could[text] != {label}] == []


def test_what_was_left_out_was_left_out_for_a_reason() -> None:
    """A readable pattern is missing only where its template is another language's too."""
    templates: dict[str, set[str]] = {}
    for locale in dates.LOCALES:
        for pattern in dates.patterns(locale):
            for key, _ in dates.templates(dates.compiled(locale, pattern), 4):
                templates.setdefault(key, set()).add(language(locale))
    for locale, months in dates.readable().items():
        for pattern in months[4]:
            found = [key for key, _ in dates.templates(dates.compiled(locale, pattern), 4)]
            for weekday in range(7):
                alone = len(templates[found[weekday % len(found)]]) == 1
                assert (pattern in ways()[locale].get((4, weekday), ())) == alone


def test_sizes_and_shares(splits: Splits) -> None:
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [20_000, 1_000, 2_000]
    for part in (splits.train, splits.valid, splits.test):
        counts = Counter(example.target for example in part)
        assert set(counts) == {language(locale) for locale in dates.LOCALES}
        assert max(counts.values()) - min(counts.values()) <= 1
        assert {example.where for example in part} == {"builtin:languages"}


def test_one_answer_for_an_input_and_no_input_in_two_parts(splits: Splits) -> None:
    labels: dict[str, str] = {}
    for example in [*splits.train, *splits.valid, *splits.test]:
        assert labels.setdefault(example.source.casefold(), example.target) == example.target
    train, valid, test = ({e.source for e in part} for part in (splits.train, splits.valid, splits.test))
    assert train.isdisjoint(valid | test)
    assert valid.isdisjoint(test)


def test_days_are_disjoint_whatever_the_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "write_date", lambda day, *_: Example((day.isoformat(),), ""))
    made = Languages(9_000, 6_000, 6_000).splits()
    train, valid, test = ({e.source for e in part} for part in (made.train, made.valid, made.test))
    assert train.isdisjoint(valid | test)
    assert valid.isdisjoint(test)
    assert len(train) > 8_900  # a day is met again only once all were dealt
    with pytest.raises(RegardError, match="test: got -1"):
        Languages(test=-1)


def test_the_dates_are_written_as_in_dates() -> None:
    written = {  # every case of every way, on one day
        dates.write(date(2024, 3, 5), locale, pattern, case).source: language(locale)
        for locale, found in ways().items()
        for pattern in found.get((3, 1), ())
        for case in dates.CASES
    }
    assert written["Dienstag, 5. März 2024"] == "de"
    assert written["MARDI 5 MARS 2024"] == "fr"


CODE = """
import hashlib
from regard.data.builtin.languages import Languages
print(hashlib.sha256(repr(Languages(500, 50, 50).splits()).encode()).hexdigest())
"""


@pytest.mark.sweep
@pytest.mark.sweep
def test_the_same_in_another_process() -> None:
    here = hashlib.sha256(repr(Languages(500, 50, 50).splits()).encode()).hexdigest()
    env = {**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "C"}
    run = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == here
    assert Languages(50, 0, 0, seed=1).splits() != Languages(50, 0, 0, seed=2).splits()
