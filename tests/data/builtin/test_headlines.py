"""Headlines: each report has one, read back by a reader of its own; links stand where they say; parts are disjoint."""

import hashlib
import os
import re
import subprocess
import sys
from random import Random

import pytest

from regard.data.builtin.headlines import DEEDS, WORDS, Headlines, draw, fill, report
from regard.data.splits import Splits
from regard.errors import RegardError

past = {forms[0]: forms[2] for forms in DEEDS.values()}
event = re.compile(
    rf"\w+ (?P<last>\w+)(?:, a (?P<role>\w+),)? (?P<deed>{'|'.join(past)}) a (?P<adjective>\w+) (?P<thing>\w+)"
    r"(?: in (?P<town>\w+))? on (?P<day>\w+)\."
)


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Headlines(800, 100, 200).splits()


def read(text: str) -> str:
    """The headline of a report, found sentence by sentence."""
    sentences = re.findall(r"[^.]+\.", text)
    [found] = [match for one in sentences if (match := event.fullmatch(one.strip()))]
    facts = found.groupdict()
    about = [one for one in sentences if facts["last"] in one and not event.search(one) and "Next" not in one]
    assert len(about) == 1
    for kind in ("role", "town"):
        if facts[kind] is None:
            [facts[kind]] = [word for word in re.findall(r"\w+", about[0]) if word in WORDS[kind]]
    return "{town} {role} {deed} {adjective} {thing} on {day}".format(**{**facts, "deed": past[facts["deed"]]})


def test_each_report_has_one_headline(splits: Splits) -> None:
    for example in (*splits.train, *splits.test):
        assert read(example.source) == example.target


def test_links_hold_what_the_headline_says(splits: Splits) -> None:
    for example in splits.train:
        assert len(example.links) == 6
        for link in example.links:
            said = example.target[link.target_start : link.target_end]
            there = example.source[link.source_start : link.source_end]
            assert said == past.get(there, there)
        town = example.links[0]
        assert example.source[: town.source_start].endswith(("in ", "of ", "In "))


def test_there_is_much_to_be_misled_by(splits: Splits) -> None:
    """Nearly every report names another town, role, thing or day than the headline; some have several deeds."""

    def others(kind: str) -> float:
        misled = 0
        for example in splits.train:
            misled += any(w in WORDS[kind] and w not in example.target for w in re.findall(r"\w+", example.source))
        return misled / len(splits.train)

    assert others("town") > 0.6
    assert others("day") > 0.6
    assert others("thing") > 0.6
    assert others("role") > 0.4
    assert sum(" will " in e.source for e in splits.train) / 800 == pytest.approx(0.5, abs=0.1)


def test_words_are_told_apart() -> None:
    """A word is of one kind, so that a headline can be read in one way."""
    every = [word for words in WORDS.values() for word in words]
    assert len(set(every)) == len(every)
    forms = [form for deed in DEEDS.values() for form in deed]
    assert not set(forms) & (set(every) - set(WORDS["deed"]))
    assert set(DEEDS) == set(WORDS["deed"])


def test_fill() -> None:
    text, spans = fill("{a}: {bc}!", {"a": "one", "bc": "two words"})
    assert text == "one: two words!"
    assert spans == {"a": (0, 3), "bc": (5, 14)}


def test_a_report_by_its_seed() -> None:
    rng = Random(5)
    facts = draw(rng, "Grant")
    assert report(rng, facts) == report(_again(5), facts)


def _again(seed: int) -> Random:
    rng = Random(seed)
    draw(rng, "Grant")
    return rng


def test_parts(splits: Splits) -> None:
    texts = [{example.target for example in part} for part in (splits.train, splits.valid, splits.test)]
    assert not texts[0] & texts[1]
    assert not texts[0] & texts[2]
    assert not texts[1] & texts[2]
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [800, 100, 200]
    assert Headlines(60, 10, 20, seed=2).splits().train != splits.train[:60]


@pytest.mark.sweep
def test_the_same_in_every_process(splits: Splits) -> None:
    code = "from regard.data.builtin.headlines import Headlines; import hashlib; print(hashlib.sha256(repr("
    code += "Headlines(50, 5, 5).splits().train).encode()).hexdigest())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "7"}
    )
    assert done.stdout.strip() == hashlib.sha256(repr(splits.train[:50]).encode()).hexdigest()


def test_too_few() -> None:
    assert Headlines(0, 0, 0).splits() == Splits([])
    with pytest.raises(RegardError, match="test: got -3"):
        Headlines(1, 1, -3)
