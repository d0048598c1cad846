"""Generated English sentences and what they mean: the grammar and the lexicon that `grammar` and `likeness` share.

A meaning is a `Claim`: *at least n* doers do the deed, or *fewer than n* do, or at least (fewer than) n do **not**.
"Some", "every", "no" and "not every" are the claims with n = 1: every dog runs = fewer than one dog does not run.

A doer is a noun, perhaps with an adjective and a relative clause; a deed is a verb, perhaps with a thing it is done
to, a manner and a place. Nouns, verbs and places stand in order, poodle < dog < animal, and some exclude each other:
who rests does not move. Adjectives hold or do not, whatever the noun (a wet poodle is a wet dog).

A claim can be written in several ways: with other words for its quantifier, as "There is …", in the passive. Each
text has one meaning. So "every" is never put in the passive (its scope would be open), nor is "every … not" written.

    say(draw(Random(1)), Random(1))  # "No hungry dog is pulling a red cart in the garden"
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

__all__ = ["UP", "Claim", "Deed", "Phrase", "change", "coherent", "draw", "exclude", "say", "within"]

# Each word, and what stands directly below it.
TREE = """
person: child, adult, musician, athlete
child: boy, girl
adult: man, woman
musician: pianist, drummer
athlete: wrestler, gymnast
animal: dog, cat, horse, bird
dog: poodle, beagle, terrier
cat: tabby
horse: pony, stallion
bird: parrot, duck, crow
toy: ball, doll, kite
vehicle: cart, bicycle
container: box, bucket
instrument: drum, guitar
resting: sleeping, sitting
sleeping: napping
holding: gripping
acting: moving, singing, laughing, pulling, pushing, cleaning, decorating
moving: walking, running, swimming, crawling
walking: strolling, marching
running: jogging, sprinting
singing: yodelling
laughing: giggling, chuckling
pulling: dragging, towing
pushing: shoving
cleaning: scrubbing, wiping
decorating: painting
outdoors: in the garden, by the river, under the trees
indoors: in the kitchen, in the hall
"""  # "acting" stands for what one does awake; it is never said
BELOW = {above: words.split(", ") for above, words in (line.split(": ") for line in TREE.strip().split("\n"))}
ABOVE = {word: above for above, words in BELOW.items() for word in words}
# Of these one doer does only one at a time, and is in only one place.
EXCLUSIVE = (
    ("sleeping", "acting"),
    ("resting", "moving"),
    ("walking", "running", "swimming", "crawling"),
    ("strolling", "marching"),
    ("jogging", "sprinting"),
    ("outdoors", "indoors"),
    ("in the kitchen", "in the hall"),
)


def _pairs(text: str) -> dict[str, str]:
    words = text.replace(",", "").split()
    return dict(zip(words[::2], words[1::2], strict=True))


# Verbs that have a thing they are done to, each with its passive; some may do without the thing.
PASSIVE = _pairs("""
holding held, gripping gripped, pulling pulled, dragging dragged, towing towed, pushing pushed, shoving shoved
cleaning cleaned, scrubbing scrubbed, wiping wiped, decorating decorated, painting painted
""")
LOOSE = ("cleaning", "decorating", "painting")
PLURALS = _pairs("person people, child children, man men, woman women, box boxes, tabby tabbies, pony ponies")
ADJECTIVES = ("hungry", "thirsty", "tired", "wet", "muddy", "injured")
LOOKS = ("red", "striped", "wooden", "broken", "dusty")  # of things
MANNERS = ("quietly", "happily", "calmly", "proudly")
NUMBERS = {1: "one", 2: "two", 3: "three"}


class Phrase(NamedTuple):
    """A noun with what narrows it: "hungry dog that is resting"; a thing has no deed."""

    noun: str
    adjective: str = ""
    deed: "Deed | None" = None


class Deed(NamedTuple):
    """Something done: "quietly pulling a red cart in the garden"."""

    verb: str
    thing: Phrase | None = None
    manner: str = ""
    place: str = ""


class Claim(NamedTuple):
    """At least (or fewer than) `number` of the doers do (or, negated, do not do) the deed."""

    least: bool
    number: int
    negated: bool
    doer: Phrase
    deed: Deed


def _up(word: str) -> frozenset[str]:
    return frozenset({word}) | (_up(ABOVE[word]) if word in ABOVE else frozenset())


UP = {word: _up(word) for word in [*ABOVE, *BELOW]}
OUT = {word: [{g for g in group if g in UP[word]} for group in EXCLUSIVE] for word in UP}
RELATED = {word: [w for w in UP if w not in (word, "acting") and (w in UP[word] or word in UP[w])] for word in UP}
PEOPLE = [word for word in UP if "person" in UP[word]]
ANIMALS = [word for word in UP if "animal" in UP[word]]
THINGS = [word for word in UP if UP[word] & {"toy", "vehicle", "container", "instrument"}]
PLACES = [word for word in UP if UP[word] & {"outdoors", "indoors"}]
VERBS = [word for word in UP if UP[word] & {"acting", "resting", "holding"} and word != "acting"]
OF_ANIMALS = [verb for verb in VERBS if UP[verb] & {"resting", "moving", "holding", "pulling", "pushing"}]


def within(deed: Deed, wider: Deed) -> bool:
    """Whether who does the first thereby does the second."""
    thing, wider_thing = deed.thing, wider.thing
    return (
        wider.verb in UP[deed.verb]
        and wider.manner in ("", deed.manner)
        and (not wider.place or (deed.place != "" and wider.place in UP[deed.place]))
        and (
            wider_thing is None
            or (
                thing is not None
                and wider_thing.noun in UP[thing.noun]
                and wider_thing.adjective in ("", thing.adjective)
            )
        )
    )


def exclude(one: Deed, other: Deed) -> bool:
    """Whether nobody can do both at a time, by what is done or by where."""
    pairs = [(one.verb, other.verb)] + [(one.place, other.place)] * bool(one.place and other.place)
    return any(a and b and a != b for x, y in pairs for a, b in zip(OUT[x], OUT[y], strict=True))


def coherent(claim: Claim) -> bool:
    """Whether a claim says something: deed and relative clause neither imply nor exclude each other."""
    other, deed = claim.doer.deed, claim.deed
    return other is None or not (within(deed, other) or within(other, deed) or exclude(deed, other))


def _maybe(rng: Random, chance: float, words: Sequence[str]) -> str:
    return rng.choice(words) if rng.random() < chance else ""


def _draw_deed(rng: Random, human: bool, modifiers: float = 0.3) -> Deed:
    verb = rng.choice(VERBS if human else OF_ANIMALS)
    thing = None
    if verb in PASSIVE and not (verb in LOOSE and rng.random() < 0.3):
        thing = Phrase(rng.choice(THINGS), _maybe(rng, 0.4, LOOKS))
    return Deed(verb, thing, _maybe(rng, modifiers, MANNERS), _maybe(rng, modifiers, PLACES))


def draw(rng: Random, clauses: float = 0.25) -> Claim:
    """A claim at random; `clauses` is the share of doers with a relative clause."""
    human = rng.random() < 0.5
    noun = rng.choice(PEOPLE if human else ANIMALS)
    adjective = _maybe(rng, 0.4, ADJECTIVES)
    clause = _draw_deed(rng, human, 0.15) if rng.random() < clauses else None
    number = rng.choice((1, 1, 1, 1, 2, 3))
    claim = Claim(
        rng.random() < 0.5, number, rng.random() < 0.5, Phrase(noun, adjective, clause), _draw_deed(rng, human)
    )
    return claim if coherent(claim) else draw(rng, clauses)


# --- one claim from another ----------------------------------------------------------------------------------


def _near(rng: Random, word: str, among: Sequence[str]) -> str:
    """Another word, most often one above or below."""
    related = RELATED.get(word)
    return rng.choice(related if related and rng.random() < 0.7 else among)


def _other(rng: Random, word: str, among: Sequence[str]) -> str:
    """Another modifier, or none."""
    return "" if word and rng.random() < 0.6 else rng.choice(among)


def _changed_deed(rng: Random, deed: Deed, human: bool) -> Deed:
    part = rng.choice(("verb", "verb", "manner", "place") + ("thing", "look") * (deed.thing is not None))
    if part == "manner":
        return deed._replace(manner=_other(rng, deed.manner, MANNERS))
    if part == "place":
        near = rng.random() < 0.5 and deed.place
        return deed._replace(place=(_near if near else _other)(rng, deed.place, PLACES))
    if part == "verb":
        verb, thing = _near(rng, deed.verb, VERBS if human else OF_ANIMALS), deed.thing
        if verb not in PASSIVE:
            thing = None
        elif thing is None and verb not in LOOSE:
            thing = Phrase(rng.choice(THINGS))
        return deed._replace(verb=verb, thing=thing)
    assert deed.thing
    if part == "look":
        return deed._replace(thing=deed.thing._replace(adjective=_other(rng, deed.thing.adjective, LOOKS)))
    if deed.verb in LOOSE and rng.random() < 0.5:
        return deed._replace(thing=None)
    return deed._replace(thing=deed.thing._replace(noun=_near(rng, deed.thing.noun, THINGS)))


def change(rng: Random, claim: Claim) -> Claim:
    """The claim with one of its parts changed; it may be incoherent, or by chance the same."""
    doer, human = claim.doer, "person" in UP[claim.doer.noun]
    parts = ("least", "least", "negated", "negated", "number", "noun", "noun", "adjective", "deed", "deed", "clause")
    part = rng.choice(parts)
    if part == "least":
        return claim._replace(least=not claim.least)
    if part == "negated":
        return claim._replace(negated=not claim.negated)
    if part == "number":
        return claim._replace(number=rng.choice((1, 2, 3)))
    if part == "deed":
        return claim._replace(deed=_changed_deed(rng, claim.deed, human))
    if part == "noun":
        doer = doer._replace(noun=_near(rng, doer.noun, PEOPLE if human else ANIMALS))
    elif part == "adjective":
        doer = doer._replace(adjective=_other(rng, doer.adjective, ADJECTIVES))
    elif doer.deed is None:
        doer = doer._replace(deed=_draw_deed(rng, human, 0.15))
    elif rng.random() < 0.3:  # "who sings is resting" ↔ "who rests is singing"
        return claim._replace(doer=doer._replace(deed=claim.deed), deed=doer.deed)
    else:
        doer = doer._replace(deed=_changed_deed(rng, doer.deed, human) if rng.random() < 0.5 else None)
    return claim._replace(doer=doer)


# --- the words ---------------------------------------------------------------------------------------------


def _quantifiers(claim: Claim) -> list[tuple[str, bool, bool]]:
    """The ways to say how many: the words, whether the noun is plural, whether the verb is negated."""
    number, negated = claim.number, claim.negated
    if number == 1 and claim.least:
        more = [("not every", False, False), ("not all", True, False)] if negated else [("a", False, False)]
        return [("some", False, negated), ("at least one", False, negated), *more]
    if number == 1:
        all_do = [("every", False, False), ("each", False, False), ("all", True, False)]
        return all_do if negated else [("no", False, False), ("no", True, False)]
    if claim.least:
        return [
            (f"at least {NUMBERS[number]}", True, negated),
            (f"more than {NUMBERS[number - 1]}", number > 2, negated),
        ]
    return [
        (f"fewer than {NUMBERS[number]}", True, negated),
        (f"at most {NUMBERS[number - 1]}", number > 2, negated),
    ]


def _noun(phrase: Phrase, plural: bool) -> str:
    noun = PLURALS.get(phrase.noun, phrase.noun + "s") if plural else phrase.noun
    return f"{phrase.adjective} {noun}".lstrip()


def _with(determiner: str, words: str) -> str:
    return f"{'an' if determiner == 'a' and words[0] in 'aeiou' else determiner} {words}"


def _doing(deed: Deed) -> str:
    thing = _with("a", _noun(deed.thing, False)) if deed.thing else ""
    return " ".join(filter(None, [deed.manner, deed.verb, thing, deed.place]))


def _which(phrase: Phrase, be: str, deed: Deed) -> str:
    return f"{'who' if 'person' in UP[phrase.noun] else 'that'} {be} {_doing(deed)}"


def say(claim: Claim, rng: Random) -> str:
    """One of the ways to write a claim; as in SICK, no full stop."""
    doer, deed = claim.doer, claim.deed
    words, plural, negated = rng.choice(_quantifiers(claim))
    be, way = "are" if plural else "is", rng.random()
    is_not = be + " not" * negated
    # Some and no are the quantifiers that may change places with the "a" of the thing.
    if way < 0.35 and deed.thing and claim.number == 1 and not claim.negated and not doer.deed:
        done = " ".join(filter(None, [deed.manner, PASSIVE[deed.verb], deed.place]))
        text = f"{_with(words, _noun(deed.thing, plural))} {be} being {done} by {_with('a', _noun(doer, False))}"
    elif 0.35 <= way < 0.5 and not doer.deed and words not in ("every", "each", "all", "not every", "not all"):
        text = f"there {be} {_with(words, _noun(doer, plural))} {_which(doer, is_not, deed)}"
    else:
        clause = f" {_which(doer, be, doer.deed)}" if doer.deed else ""
        text = f"{_with(words, _noun(doer, plural))}{clause} {is_not} {_doing(deed)}"
    return text[0].upper() + text[1:]
