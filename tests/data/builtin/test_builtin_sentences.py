"""Made sentences say what they mean: a reader who knows only the words gets the claim back."""

import re
from itertools import pairwise, product
from random import Random

import pytest
from sentence_reader import read

from regard.data.builtin import _sentences as s
from regard.data.builtin._sentences import Claim, Deed, Phrase, change, coherent, draw, exclude, say, within

# --- words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_is_read_back(seed: int) -> None:
    rng = Random(seed)
    texts = set()
    for _ in range(1_500):
        claim = draw(rng)
        text = say(claim, rng)
        assert read(text) == claim
        texts.add(text)
    assert len(texts) > 1_450


def test_every_way_of_saying_by_hand() -> None:
    cart = Deed("pulling", Phrase("cart", "red"), "quietly", "in the garden")
    some = Claim(True, 1, False, Phrase("dog", "hungry"), cart)

    def ways(claim: Claim) -> set[str]:
        return {say(claim, Random(seed)) for seed in range(200)}

    assert ways(some) == {
        f"{words} hungry dog is quietly pulling a red cart in the garden" for words in ("A", "Some", "At least one")
    } | {
        f"There is {words} hungry dog that is quietly pulling a red cart in the garden"
        for words in ("a", "some", "at least one")
    } | {
        f"{words} red cart is being quietly pulled in the garden by a hungry dog"
        for words in ("A", "Some", "At least one")
    }
    rest = Deed("resting")
    athlete = Phrase("athlete", deed=Deed("singing"))
    assert ways(Claim(False, 1, True, athlete, rest)) == {
        "Every athlete who is singing is resting",
        "Each athlete who is singing is resting",
        "All athletes who are singing are resting",
    }
    assert ways(Claim(False, 1, False, Phrase("pony"), rest)) == {
        "No pony is resting",
        "No ponies are resting",
        "There is no pony that is resting",
        "There are no ponies that are resting",
    }
    assert ways(Claim(True, 1, True, Phrase("child"), rest)) == {
        "Not every child is resting",
        "Not all children are resting",
        "Some child is not resting",
        "At least one child is not resting",
        "There is some child who is not resting",
        "There is at least one child who is not resting",
    }
    assert ways(Claim(False, 3, True, Phrase("adult", "injured"), rest)) == {
        "Fewer than three injured adults are not resting",
        "At most two injured adults are not resting",
        "There are fewer than three injured adults who are not resting",
        "There are at most two injured adults who are not resting",
    }
    assert "An injured adult is holding an instrument" in ways(
        Claim(True, 1, False, Phrase("adult", "injured"), Deed("holding", Phrase("instrument")))
    )


def test_the_passive_means_the_same_by_brute_force() -> None:
    """Two doers, two things, every relation: some and no may change places with "a", the others may not."""
    counts = {"some": lambda n: n >= 1, "no": lambda n: n == 0, "two": lambda n: n >= 2, "every": lambda n: n == 2}
    same = dict.fromkeys(counts, True)
    for cells in product((False, True), repeat=4):
        to_first, to_second = cells[:2], cells[2:]  # what each of the two doers does to each thing
        pulling = any(to_first) + any(to_second)
        pulled = (to_first[0] or to_second[0]) + (to_first[1] or to_second[1])
        for name, holds in counts.items():
            same[name] &= holds(pulling) == holds(pulled)
    assert same == {"some": True, "no": True, "two": False, "every": False}


# --- order and exclusion -----------------------------------------------------------------------------------------


def test_order_by_hand() -> None:
    assert s.UP["poodle"] == {"poodle", "dog", "animal"}
    assert s.UP["in the garden"] == {"in the garden", "outdoors"}
    assert sorted(s.RELATED["dog"]) == ["animal", "beagle", "poodle", "terrier"]
    cart = Deed("towing", Phrase("cart", "red"), "quietly", "in the garden")
    assert within(cart, Deed("pulling", Phrase("vehicle")))
    assert within(cart, Deed("pulling", Phrase("vehicle", "red"), "quietly", "outdoors"))
    assert within(Deed("scrubbing", Phrase("box")), Deed("cleaning"))
    assert not within(Deed("pulling", Phrase("cart")), cart)
    assert not within(cart, Deed("pulling", Phrase("vehicle", "dusty")))
    assert not within(cart, Deed("pulling", Phrase("toy")))
    assert not within(cart, Deed("pulling", Phrase("vehicle"), "happily"))
    assert not within(cart, Deed("pulling", Phrase("vehicle"), "", "in the kitchen"))


def test_exclusion_by_hand() -> None:
    assert exclude(Deed("napping"), Deed("jogging"))
    assert exclude(Deed("napping"), Deed("yodelling"))
    assert exclude(Deed("sitting"), Deed("walking"))
    assert exclude(Deed("singing", place="by the river"), Deed("laughing", place="in the hall"))
    assert exclude(Deed("singing", place="in the kitchen"), Deed("laughing", place="in the hall"))
    assert not exclude(Deed("sitting"), Deed("singing"))
    assert not exclude(Deed("napping"), Deed("sitting"))
    assert not exclude(Deed("napping"), Deed("gripping", Phrase("doll")))
    assert not exclude(Deed("singing", place="by the river"), Deed("laughing", place="in the garden"))
    assert not exclude(Deed("singing", place="by the river"), Deed("laughing"))


def deeds(n: int) -> list[Deed]:
    """Related ones: each a change or two from the one before."""
    rng = Random(5)
    found, claim = [], draw(rng)
    for _ in range(n):
        claim = change(rng, claim) if rng.random() < 0.97 else draw(rng)
        found += [deed for deed in (claim.deed, claim.doer.deed) if deed]
    return list(dict.fromkeys(found))


def test_order_and_exclusion_fit_together() -> None:
    some = deeds(400)[:160]
    below = {(a, b) for a, b in product(some, some) if within(a, b)}
    apart = {(a, b) for a, b in product(some, some) if exclude(a, b)}
    assert len(below) > len(some) + 50
    assert len(apart) > 50
    for a in some:
        assert (a, a) in below
    for a, b in below:
        assert a == b or (b, a) not in below
        assert (a, b) not in apart  # what implies another does not rule it out
        for c in some:
            assert (b, c) not in below or (a, c) in below
            assert (b, c) not in apart or (a, c) in apart
    assert apart == {(b, a) for a, b in apart}


def test_coherent_by_hand() -> None:
    def claim(clause: Deed, deed: Deed) -> Claim:
        return Claim(True, 1, False, Phrase("dog", deed=clause), deed)

    assert coherent(Claim(True, 1, False, Phrase("dog"), Deed("running")))
    assert coherent(claim(Deed("singing"), Deed("running")))
    assert not coherent(claim(Deed("running"), Deed("moving")))
    assert not coherent(claim(Deed("moving"), Deed("running")))
    assert not coherent(claim(Deed("napping"), Deed("running")))


def test_changes() -> None:
    rng = Random(2)
    parts = set()
    for _ in range(3_000):
        claim = draw(rng)
        new = change(rng, claim)
        parts |= {name for name, a, b in zip(Claim._fields, claim, new, strict=True) if a != b}
        for deed in (new.deed, new.doer.deed):
            if deed:  # still something that can be said
                assert (deed.thing is None) == (deed.verb not in s.PASSIVE) or deed.verb in s.LOOSE
                assert "person" in s.UP[new.doer.noun] or deed.verb in s.OF_ANIMALS
    assert parts == set(Claim._fields)


def test_every_word_is_used() -> None:
    rng = Random(1)
    seen = " ".join(say(draw(rng), rng) for _ in range(6_000)).lower()
    words = [*s.PEOPLE, *s.ANIMALS, *s.THINGS, *s.VERBS, *s.PLACES, *s.ADJECTIVES, *s.LOOKS, *s.MANNERS]
    assert [word for word in words if not re.search(rf"\b{word}\b", seen)] == []
    assert [many for many in s.PLURALS.values() if many not in seen] == []
    assert "acting" not in seen
    assert all(a < b for a, b in pairwise(sorted(words)))  # none stands twice
