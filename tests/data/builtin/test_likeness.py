"""Likeness: the numbers by hand, the same both ways round, 5.0 for one meaning alone, the whole scale in use."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest
from sentence_reader import read

from regard.data.builtin import likeness as module
from regard.data.builtin._sentences import Claim, Deed, Phrase, change, draw
from regard.data.builtin.grammar import relation
from regard.data.builtin.likeness import Likeness, likeness
from regard.data.splits import Splits
from regard.errors import RegardError


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Likeness(1_600, 160, 320).splits()


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("A dog is running", "There is some dog that is running", Fraction(1)),
        ("A dog is pulling a cart", "A cart is being pulled by a dog", Fraction(1)),
        # quantifier 2, noun 3, verb 3
        ("A dog is running", "A poodle is running", Fraction(2 + 3, 1) / 8 + Fraction(3, 8) * Fraction(4, 5)),
        ("A dog is running", "At least two dogs are running", Fraction(6, 8) + Fraction(2, 8) * Fraction(5, 6)),
        ("A dog is running", "No dog is running", Fraction(6, 8)),
        ("Some dog is running", "Some dog is not running", Fraction(6, 8) + Fraction(2, 8) * Fraction(5, 7)),
        ("A dog is jogging", "A dog is sprinting", Fraction(5, 8) + Fraction(3, 8) * Fraction(2, 3)),
        ("A wet dog is running", "A dog is running", Fraction(8, 9)),
        ("A wet dog is running", "A muddy dog is running", Fraction(8, 9)),
        ("A dog is running outdoors", "A dog is running in the garden", Fraction(8, 9) + Fraction(1, 9) * 2 / 3),
        ("A dog is quietly running", "A dog is running", Fraction(8, 9)),
        ("A dog is pulling a cart", "A dog is pulling a vehicle", Fraction(8, 10) + Fraction(2, 10) * Fraction(2, 3)),
        ("A dog is pulling a red cart", "A dog is pulling a ball", Fraction(8, 11)),
        ("A boy is decorating a red cart", "A boy is decorating", Fraction(8, 11)),
        ("Every dog is resting", "No boy is singing", Fraction(0)),
    ],
)  # fmt: skip
def test_by_hand(one: str, other: str, share: Fraction) -> None:
    assert likeness(read(one), read(other)) == pytest.approx(float(1 + 4 * share))


def test_quantifiers_all_differ() -> None:
    def said(least: bool, number: int, negated: bool) -> frozenset[int]:
        return module._numbers(Claim(least, number, negated, Phrase("dog"), Deed("resting")))

    ways = list(product((True, False), (1, 2, 3), (True, False)))
    assert said(True, 1, False) == {1, 2, 3, 4, 5, 6}
    assert said(False, 1, True) == {6}  # every
    assert said(False, 2, False) == {0, 1}
    assert said(True, 3, True) == {0, 1, 2, 3}
    assert len({said(*way) for way in ways}) == len(ways) == 12


def claims(n: int, seed: int) -> list[tuple[Claim, Claim]]:
    rng = Random(seed)
    pairs = []
    while len(pairs) < n:
        one = other = draw(rng, clauses=0.0)
        for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 9))):
            other = change(rng, other)
        if other.doer.deed is None:
            pairs.append((one, other))
    return pairs


def test_symmetric_within_the_scale_and_5_for_one_meaning_alone() -> None:
    same = 0
    for one, other in claims(4_000, seed=3):
        score = likeness(one, other)
        assert score == likeness(other, one)
        assert 1 <= score <= 5
        assert (score == 5) == (one == other)
        assert (f"{score:.1f}" == "5.0") == (one == other)
        # Two claims are one where each entails the other: what is written otherwise means something else.
        both = relation(one, other) == relation(other, one) == "entailment"
        assert both == (one == other)
        same += both
    assert same > 300


def test_more_in_common_is_no_less_alike() -> None:
    base = read("A wet dog is quietly pulling a red cart outdoors")
    others = [
        *(base._replace(doer=base.doer._replace(noun=noun)) for noun in ("poodle", "animal", "cat", "boy")),
        *(base._replace(deed=base.deed._replace(verb=verb)) for verb in ("towing", "pushing", "gripping")),
    ]
    scores = [likeness(base, other) for other in others]
    assert max(scores) < 5
    assert scores[:4] == sorted(scores[:4], reverse=True)
    assert scores[4] > scores[5] == scores[6]


def test_the_smallest_difference_shows() -> None:
    """Of a claim with all parts and every other that differs in one word."""
    base = read("A wet dog is quietly pulling a red cart in the garden")
    rng = Random(1)
    ones = {change(rng, base) for _ in range(3_000)}
    near = max(likeness(base, one) for one in ones if one.doer.deed is None and one != base)
    assert f"{near:.1f}" == "4.9"


def test_the_set(splits: Splits) -> None:
    assert (Likeness().train, Likeness().valid, Likeness().test) == (20_000, 1_000, 2_000)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [1_600, 160, 320]
    for part in (splits.train, splits.valid, splits.test):
        halves: Counter[int] = Counter()
        for example in part:
            one, other = map(read, example.inputs)
            score = likeness(one, other)
            assert example.target == f"{score:.1f}"
            assert (example.target == "5.0") == (one == other)
            assert example.inputs[0] != example.inputs[1]
            assert example.where == "builtin:likeness"
            halves[min(int(2 * (score - 1)), 7)] += 1
        assert set(halves.values()) == {len(part) // 8}
    assert len({example.target for example in splits.train}) == 41  # 1.0, 1.1, … 5.0
    assert sum(" being " in text for example in splits.train for text in example.inputs) > 80


def test_no_pair_is_met_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [draw(Random(seed), clauses=0.0) for seed in range(20)]  # so few that pairs would come again
    monkeypatch.setattr(module, "draw", lambda rng, clauses: rng.choice(some))
    splits = Likeness(400, 80, 80).splits()
    pairs = [[frozenset(map(read, e.inputs)) for e in part] for part in (splits.train, splits.valid, splits.test)]
    for part in pairs:
        assert len(set(part)) == len(part)
    for one, other in combinations(pairs, 2):
        assert set(one).isdisjoint(other)


CODE = """
import hashlib, time
from regard.data.builtin.likeness import Likeness
print(hashlib.sha256(repr(Likeness(600, 60, 60).splits()).encode()).hexdigest())
start = time.process_time()
Likeness().splits()
print(time.process_time() - start)
"""


@pytest.mark.sweep
@pytest.mark.sweep
def test_the_same_in_another_process_and_quickly() -> None:
    here = hashlib.sha256(repr(Likeness(600, 60, 60).splits()).encode()).hexdigest()
    env = {**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "C"}
    run = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    there, seconds = run.stdout.split()
    assert there == here
    assert float(seconds) < 10  # about two on a quiet machine


def test_seeds_and_sizes() -> None:
    assert Likeness(30, 0, 0, seed=1).splits() != Likeness(30, 0, 0, seed=2).splits()
    for size in (0, 1, 9):
        assert len(Likeness(size, 0, 0).splits().train) == size
    with pytest.raises(RegardError, match="test: got -2"):
        Likeness(test=-2)
