"""Entailment is decided by a rule; here it is decided again by looking at every small world."""

import hashlib
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from random import Random

import pytest
from sentence_reader import read

from regard.data.builtin import _sentences as s
from regard.data.builtin._sentences import Claim, Deed, Phrase, change, coherent, draw
from regard.data.builtin.grammar import LABELS, Grammar, relation
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.types import Example

# --- worlds ------------------------------------------------------------------------------------------------------
#
# A world is a handful of doers. Each is of a kind, has some adjectives, and takes part in some events that can happen
# together. Nothing here uses the order of deeds or the rule; a sentence is held against the doers one by one.


def is_a(word: str, kind: str) -> bool:
    while word != kind and word in s.ABOVE:
        word = s.ABOVE[word]
    return word == kind


def happens(event: Deed, deed: Deed) -> bool:
    """Whether this event is one of these deeds."""
    return (
        is_a(event.verb, deed.verb)
        and (not deed.manner or event.manner == deed.manner)
        and (not deed.place or is_a(event.place, deed.place))
        and (
            not deed.thing
            or bool(
                event.thing
                and is_a(event.thing.noun, deed.thing.noun)
                and (not deed.thing.adjective or event.thing.adjective == deed.thing.adjective)
            )
        )
    )


def together(one: Deed, other: Deed) -> bool:
    """Whether one doer can take part in both events."""
    for x, y in ((one.verb, other.verb), (one.place, other.place)):
        for group in s.EXCLUSIVE:
            if any(is_a(x, a) and is_a(y, b) for a, b in product(group, group) if a != b):
                return False
    return True


def finer(one: Deed, other: Deed) -> Iterable[Deed]:
    """The event that is both deeds at once, if there is one."""
    places = {deed.place for deed in (one, other) if deed.place} or {""}
    manners = {deed.manner for deed in (one, other) if deed.manner} or {""}
    things = {deed.thing for deed in (one, other) if deed.thing} or {None}
    for verb, place, manner, thing in product((one.verb, other.verb), places, manners, things):
        event = Deed(verb, thing, manner, place)
        if happens(event, one) and happens(event, other):
            yield event


@cache
def doings(deeds: frozenset[Deed]) -> set[frozenset[Deed]]:
    """Which of the deeds one doer can be doing, through up to four events that can happen together."""
    pool = set(deeds) | {event for a, b in combinations(deeds, 2) for event in finer(a, b)}
    return {
        frozenset(deed for deed in deeds if any(happens(event, deed) for event in events))
        for size in range(5)
        for events in combinations(pool, size)
        if all(together(a, b) for a, b in combinations(events, 2))
    }


def signatures(one: Claim, other: Claim) -> frozenset[tuple[bool, ...]]:
    """All that a doer can be to the two claims: a doer of the first, counted by it, and the same of the second."""
    deeds = frozenset(deed for claim in (one, other) for deed in (claim.deed, claim.doer.deed) if deed)
    adjectives = {claim.doer.adjective for claim in (one, other)} - {""}
    found = set()
    for noun, size in product((one.doer.noun, other.doer.noun, "stone"), range(len(adjectives) + 1)):
        for having, doing in product(combinations(adjectives, size), doings(deeds)):
            signature: list[bool] = []
            for claim in (one, other):
                doer = (
                    is_a(noun, claim.doer.noun)
                    and (not claim.doer.adjective or claim.doer.adjective in having)
                    and (not claim.doer.deed or claim.doer.deed in doing)
                )
                signature += [doer, doer and (claim.deed in doing) != claim.negated]
            found.add(tuple(signature))
    return frozenset(found)


@cache
def worlds(kinds: frozenset[tuple[bool, ...]], most: int = 6) -> set[tuple[int, int]]:
    """How many each claim counts, in every world of up to six doers that has a doer of each claim."""
    return {
        (sum(one[1] for one in world), sum(one[3] for one in world))
        for size in range(1, most + 1)
        for world in combinations_with_replacement(kinds, size)
        if any(one[0] for one in world) and any(one[2] for one in world)
    }


def holds(claim: Claim, count: int) -> bool:
    return count >= claim.number if claim.least else count < claim.number


def by_worlds(premise: Claim, hypothesis: Claim, most: int = 6) -> str:
    found = {
        holds(hypothesis, second)
        for first, second in worlds(signatures(premise, hypothesis), most)
        if holds(premise, first)
    }
    return {(True, False): "neutral", (True,): "entailment", (False,): "contradiction", (): ""}[
        tuple(sorted(found, reverse=True))
    ]


def test_worlds_by_hand() -> None:
    some, every = read("A dog is running"), read("Every dog is running")
    # A stone; a dog that runs; one that does not. Both claims speak of dogs, the second counts those that do not run.
    assert signatures(some, every) == {(False,) * 4, (True, True, True, False), (True, False, True, True)}
    assert (0, 0) not in worlds(signatures(some, every))  # there are dogs
    assert {(1, 0), (0, 1), (1, 1), (6, 0), (3, 3)} <= worlds(signatures(some, every))
    assert by_worlds(every, some) == "entailment"
    assert by_worlds(some, every) == "neutral"
    assert not together(Deed("napping"), Deed("jogging"))
    assert together(Deed("sitting"), Deed("singing"))
    assert list(finer(Deed("running", place="outdoors"), Deed("moving", None, "quietly"))) == [
        Deed("running", None, "quietly", "outdoors")
    ]


@pytest.mark.parametrize("far", [1, 2, 4, 8])
def test_the_rule_is_the_truth_on_claims_that_are_near(far: int) -> None:
    rng = Random(far)
    labels: Counter[str] = Counter()
    while sum(labels.values()) < 700:
        premise = hypothesis = draw(rng, clauses=0.5)
        for _ in range(far):
            premise = change(rng, premise)
        if coherent(premise):
            truth = by_worlds(premise, hypothesis)
            assert relation(premise, hypothesis) == truth, (premise, hypothesis)
            labels[truth] += 1
    assert min(labels[label] for label in LABELS) > 10


@pytest.mark.sweep
def test_the_rule_is_the_truth_on_every_pair_of_some() -> None:
    """All quantifiers, and doers and deeds that stand in all relations; a clause may be the other's deed."""
    doers = [
        Phrase("dog"),
        Phrase("poodle"),
        Phrase("dog", "wet"),
        Phrase("dog", deed=Deed("running")),
        Phrase("dog", deed=Deed("singing")),
    ]
    deeds = [Deed("moving"), Deed("running"), Deed("singing"), Deed("sitting")]
    quantifiers = product((True, False), (1, 2), (True, False))
    claims = [Claim(*how, doer, deed) for how, doer, deed in product(quantifiers, doers, deeds)]
    claims = [claim for claim in claims if coherent(claim)]
    labels: Counter[str] = Counter()
    for premise, hypothesis in product(claims, claims):
        truth = by_worlds(premise, hypothesis)
        assert relation(premise, hypothesis) == truth, (premise, hypothesis)
        labels[truth] += 1
    assert len(claims) > 120
    assert min(labels[label] for label in (*LABELS, "")) > 40


def test_larger_worlds_decide_no_more() -> None:
    rng = Random(9)
    for _ in range(150):
        premise = hypothesis = draw(rng)
        for _ in range(3):
            premise = change(rng, premise)
        pair = premise._replace(number=3), hypothesis._replace(number=3)
        if coherent(pair[0]):
            assert by_worlds(*pair, most=6) == by_worlds(*pair, most=8)


@pytest.mark.parametrize(
    ("premise", "hypothesis", "label"),
    [
        ("A poodle is running", "An animal is moving", "entailment"),
        ("An animal is moving", "A poodle is running", "neutral"),
        ("Every dog is moving", "Every poodle is moving", "entailment"),
        ("Every poodle is moving", "Every dog is moving", "neutral"),
        ("Every dog is running", "A dog is running", "entailment"),  # there are dogs
        ("No animal is moving", "Not every wet poodle is jogging", "entailment"),
        ("No dog is running", "No dog is moving", "neutral"),
        ("Every dog is sleeping", "No dog is jogging", "entailment"),  # who rests does not move
        ("Every dog is sleeping", "Some poodle is not resting", "contradiction"),
        ("Some dog is not running", "Every dog is sprinting", "contradiction"),
        ("At least three girls are singing", "More than one child is singing", "entailment"),
        ("At least two girls are pushing a red cart", "Fewer than two children are pushing a vehicle", "contradiction"),
        ("At most one child is singing", "Fewer than three girls are singing", "entailment"),
        ("At most two children are singing", "At most one child is singing", "neutral"),
        ("A red cart is being pulled by a dog", "Some dog is pulling a vehicle", "entailment"),
        ("No cart is being pulled by an animal", "There is a dog that is towing a red cart", "contradiction"),
        ("A dog is quietly sitting in the garden", "A dog is sitting outdoors", "entailment"),
        ("Every dog is sitting outdoors", "Some dog is sitting in the kitchen", "contradiction"),
        ("A dog is not quietly running", "A dog is not running", "neutral"),
        ("A dog is not running", "A dog is not quietly running", "entailment"),
        ("Some woman who is singing is sitting", "Some woman who is sitting is singing", "entailment"),
        ("Every woman who is singing is sitting", "Every woman who is sitting is singing", "neutral"),
        ("Every woman is sitting", "Every woman who is singing is resting", "entailment"),
        ("Every woman who is singing is sitting", "A woman is singing", "entailment"),
        ("A dog is pulling a cart", "A cat is pulling a cart", "neutral"),
        ("No woman is singing", "Every woman who is singing is sitting", ""),  # there is nobody to speak of
    ],
)  # fmt: skip
def test_by_hand(premise: str, hypothesis: str, label: str) -> None:
    assert relation(read(premise), read(hypothesis)) == label
    assert by_worlds(read(premise), read(hypothesis)) == label


# --- the set -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Grammar(1_800, 150, 600).splits()


def test_sizes_and_shares(splits: Splits) -> None:
    assert (Grammar().train, Grammar().valid, Grammar().test) == (20_000, 1_000, 2_000)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [1_800, 150, 600]
    for part in (splits.train, splits.valid, splits.test):
        counts = Counter(example.target for example in part)
        assert set(counts) == set(LABELS)
        assert max(counts.values()) == min(counts.values())
    for size in (0, 1, 2, 4):
        assert len(Grammar(size, 0, 0).splits().train) == size


def test_every_label_is_true_of_what_was_written(splits: Splits) -> None:
    for example in [*splits.train[:900], *splits.valid]:
        assert by_worlds(*map(read, example.inputs)) == example.target, example
        assert example.where == "builtin:grammar"


def test_each_hypothesis_has_every_label_and_its_own_part(splits: Splits) -> None:
    meanings: list[set[Claim]] = []
    for part in (splits.train, splits.valid, splits.test):
        labels: dict[str, list[str]] = {}
        for example in part:
            labels.setdefault(example.inputs[1], []).append(example.target)
        assert all(sorted(found) == sorted(LABELS) for found in labels.values())
        meanings.append({read(text) for text in labels})
        assert len(meanings[-1]) == len(labels)
    assert meanings[0].isdisjoint(meanings[1] | meanings[2])
    assert meanings[1].isdisjoint(meanings[2])
    whole = [*splits.train, *splits.valid, *splits.test]
    assert len({example.inputs for example in whole}) == len(whole)


def accuracy(splits: Splits, words: Callable[[Example], list[str]]) -> float:
    """Of naive Bayes on these words."""
    counts: dict[str, Counter[str]] = {label: Counter() for label in LABELS}
    for example in splits.train:
        counts[example.target].update(words(example))
    known = len(set().union(*counts.values()))
    log = {
        label: (lambda word, of=of, all_of=of.total(): math.log((of[word] + 1) / (all_of + known)))
        for label, of in counts.items()
    }
    right = 0
    for example in splits.test:
        guess = max(LABELS, key=lambda label: sum(map(log[label], words(example))))
        right += guess == example.target
    return right / len(splits.test)


def test_one_sentence_alone_does_not_tell(splits: Splits) -> None:
    # A guess from the hypothesis is right for one of its three premises.
    assert accuracy(splits, lambda example: example.inputs[1].lower().split()) == pytest.approx(1 / 3)
    assert accuracy(splits, lambda example: example.inputs[0].lower().split()) < 0.45
    assert accuracy(splits, lambda example: " ".join(example.inputs).lower().split()) < 0.45


def test_it_is_not_all_alike(splits: Splits) -> None:
    premises, hypotheses = zip(*(example.inputs for example in splits.train), strict=True)
    assert len(set(premises)) > 0.95 * len(premises)
    assert len({word for text in hypotheses for word in text.lower().split()}) > 120
    for label in LABELS:  # every kind of sentence comes with every label
        pairs = [example.inputs for example in splits.train if example.target == label]
        for kind in (" being ", " who ", " that ", " not ", "no ", "every ", "at least ", "at most ", "two", "quietly"):
            assert sum(kind in premise.lower() for premise, _ in pairs) > 8, (label, kind)
        same = sum(read(premise) == read(hypothesis) for premise, hypothesis in pairs)
        assert same < 0.2 * len(pairs)
        assert (same > 0) == (label == "entailment")


CODE = """
import hashlib, time
from regard.data.builtin.grammar import Grammar
print(hashlib.sha256(repr(Grammar(600, 60, 60).splits()).encode()).hexdigest())
start = time.process_time()
Grammar().splits()
print(time.process_time() - start)
"""


@pytest.mark.sweep
@pytest.mark.sweep
def test_the_same_in_another_process_and_quickly() -> None:
    here = hashlib.sha256(repr(Grammar(600, 60, 60).splits()).encode()).hexdigest()
    env = {**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "C"}
    run = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    there, seconds = run.stdout.split()
    assert there == here
    assert float(seconds) < 10  # about three on a quiet machine


def test_seeds_and_sizes() -> None:
    assert Grammar(30, 0, 0, seed=1).splits() == Grammar(30, 0, 0, seed=1).splits()
    assert Grammar(30, 0, 0, seed=1).splits() != Grammar(30, 0, 0, seed=2).splits()
    with pytest.raises(RegardError, match="train: got -1"):
        Grammar(train=-1)
