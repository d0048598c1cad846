"""A label for every character: true to the pieces the date was written from, and the same for the same string."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from datetime import date
from functools import cache
from itertools import pairwise, product

import pytest

from regard.data.builtin import dates, fields
from regard.data.builtin.fields import Fields, label
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.types import Example

FIELDS = ("day", "month", "year", "weekday")


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Fields(5_000, 500, 1_000).splits()


def spans(example: Example) -> dict[str, str]:
    """What the labels say of each field; each begins once and goes on without a break."""
    found: dict[str, str] = {}
    before = "O"
    for char, tag in zip(example.source, example.target.split(" "), strict=True):
        start, _, field = tag.partition("-")
        assert tag == "O" or (start in "BI" and field in FIELDS)
        if start == "B":
            assert field not in found
            found[field] = char
        elif start == "I":
            assert before in (f"B-{field}", f"I-{field}")
            found[field] += char
        before = tag
    return found


def test_by_hand() -> None:
    assert label(date(2024, 3, 5), "de", "EEE, d. MMMM y") == Example(
        # Di., 5. März 2024
        inputs=("Di., 5. März 2024",),
        target="B-weekday I-weekday I-weekday O O B-day O O B-month I-month I-month I-month O "
        "B-year I-year I-year I-year",
        where="builtin:fields",
    )
    assert label(date(2024, 12, 31), "es", "d 'de' MMM 'de' y", "upper").target == (
        "B-day I-day O O O O B-month I-month I-month O O O O B-year I-year I-year I-year"
    )


@pytest.mark.parametrize(
    ("locale", "pattern", "text", "month"),
    [
        ("ko", "y년 MMM d일", "2024년 3월 5일", "3"),
        ("ko", "y년 M월 d일", "2024년 3월 5일", "3"),
        ("vi", "d MMMM, y", "5 tháng 3, 2024", "3"),
        ("ja", "y年M月d日(E)", "2024年3月5日(火)", "3"),
        ("ar_EG", "d MMMM y", "٥ مارس ٢٠٢٤", "مارس"),
    ],
)
def test_months_by_number_and_by_name(locale: str, pattern: str, text: str, month: str) -> None:
    example = label(date(2024, 3, 5), locale, pattern)
    assert example.source == text
    assert spans(example)["month"] == month


@pytest.mark.sweep
def test_true_to_the_links_of_dates() -> None:
    days = [date(2024, 3, 5), date(2023, 12, 31)]
    for locale, months in dates.readable().items():
        for day in days:
            for pattern in months[day.month]:
                written, example = dates.write(day, locale, pattern), label(day, locale, pattern)
                assert example.inputs == written.inputs
                said = spans(example)
                year, month, of_month = (written.source[link.source_start : link.source_end] for link in written.links)
                assert (said["year"], said["day"]) == (year, of_month)
                assert said["month"] == ("".join(filter(str.isdecimal, month)) or month)
                assert ("weekday" in said) == any(letter in pattern for letter in "Ec")


def test_the_same_string_has_the_same_labels_by_brute_force() -> None:
    labels = cache(fields._labels)
    seen: dict[str, list[str]] = {}
    for locale, months in dates.readable().items():
        for month, pattern in [(month, pattern) for month, some in months.items() for pattern in some]:
            pieces = dates.compiled(locale, pattern)
            weekdays = range(7 if any(piece.field == "weekday" for piece in pieces) else 1)
            for weekday, day in product(weekdays, (5, 12)):
                numbers = {"year": 2012, "month": month, "day": day, "weekday": weekday, "": 0}
                said = [(piece.field, piece.said[numbers[piece.field]].lower()) for piece in pieces]
                text = "".join([words for _, words in said])
                tags = [tag for field, words in said for tag in labels(field, words)]
                assert seen.setdefault(text, tags) == tags
    assert len(seen) > 40_000


def test_the_whole_set(splits: Splits) -> None:
    assert (Fields().train, Fields().valid, Fields().test) == (20_000, 1_000, 2_000)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [5_000, 500, 1_000]
    seen: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for example in [*splits.train, *splits.valid, *splits.test]:
        tags = example.target.split(" ")
        assert len(tags) == len(example.source)
        assert {"day", "month", "year"} <= set(spans(example))
        assert seen.setdefault(example.source, example.target) == example.target
        assert all(after[0] != "I" or before[1:] == after[1:] for before, after in pairwise(tags))
        counts.update(tags)
    assert set(counts) == {"O", *(f"{start}-{field}" for start in "BI" for field in FIELDS)}
    train, valid, test = ({e.source for e in part} for part in (splits.train, splits.valid, splits.test))
    assert train.isdisjoint(valid | test)
    assert valid.isdisjoint(test)


CODE = """
import hashlib
from regard.data.builtin.fields import Fields
print(hashlib.sha256(repr(Fields(500, 50, 50).splits()).encode()).hexdigest())
"""


@pytest.mark.sweep
def test_the_same_in_another_process() -> None:
    here = hashlib.sha256(repr(Fields(500, 50, 50).splits()).encode()).hexdigest()
    env = {**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "C"}
    run = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == here
    assert Fields(50, 0, 0, seed=1).splits() != Fields(50, 0, 0, seed=2).splits()


def test_what_cannot_be_asked() -> None:
    with pytest.raises(RegardError, match="the date 1899"):
        label(date(1899, 12, 31), "de", "d MMMM y")
    with pytest.raises(RegardError, match="valid: got -1"):
        Fields(valid=-1)
