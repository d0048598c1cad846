"""Short stories, one per line, in which later words depend on earlier ones.

"Nora had five red candles. One cold morning she took them to the harbour. There she met her uncle Felix, who was
bored. She gave him two of the candles. Now Nora had three red candles, and Felix was no longer bored. …"

Names come back, he and she agree with them, the thing and its colour return, one is an "it" and several are a "them",
and the count goes up and down with what is given, found and lost. All else is drawn at random, every choice with
equal chances, and a story tells which choices were made: so it is known how well a model can do at best, its −log p
being the sum of log(number of choices). `floor` gives that as a perplexity, 1.52 a word.

    Stories(train=8_000).splits().train[0].source
    tell(Random(1).choice)
"""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from regard.data.builtin._builtin import DataSeed, Hashed, TestSize, TrainSize, ValidSize
from regard.data.splits import place
from regard.types import Example

__all__ = ["Stories", "floor", "tell"]

GIRLS = ("Anna", "Clara", "Emma", "Grace", "Ida", "Julia", "Maria", "Nora", "Rosa", "Sophie")
BOYS = ("Ben", "David", "Felix", "Henry", "Jonas", "Leo", "Martin", "Oscar", "Paul", "Tom")
KIN = {"she": ("sister", "aunt", "friend", "neighbour"), "he": ("brother", "uncle", "friend", "neighbour")}
FORMS = {"she": ("she", "her", "her"), "he": ("he", "him", "his")}
THINGS = ("apple", "pear", "candle", "stamp", "marble", "shell", "balloon", "ribbon", "button", "lemon")
COLOURS = ("red", "green", "blue", "yellow", "white", "golden")
PLACES = ("market", "harbour", "library", "park", "mill", "station", "castle", "bridge")
MOMENTS = ("One cold morning", "One sunny day", "Late in the evening", "After the rain", "On her birthday")
FEELINGS = ("sad", "bored", "tired", "lonely", "angry", "ill")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOST = len(NUMBERS) - 1

Pick = Callable[[Sequence[Any]], Any]


def things(number: int, thing: str) -> str:
    return thing if number == 1 else f"{thing}s"


def tell(pick: Pick) -> str:
    """One story; `pick` makes every choice, from at least two things."""
    who = pick(GIRLS + BOYS)
    she, her, hers = FORMS["she" if who in GIRLS else "he"]
    number, colour, thing = pick(range(1, MOST + 1)), pick(COLOURS), pick(THINGS)
    moment, where = pick(MOMENTS).replace("her", hers), pick(PLACES)
    other = pick([name for name in GIRLS + BOYS if name != who])
    he = "she" if other in GIRLS else "he"
    kin, feeling = pick(KIN[he]), pick(FEELINGS)
    said = [
        f"{who} had {NUMBERS[number]} {colour} {things(number, thing)}.",
        f"{moment} {she} took {'it' if number == 1 else 'them'} to the {where}.",
        f"There {she} met {hers} {kin} {other}, who was {feeling}.",
    ]
    for _ in range(pick((1, 2, 3))):
        sentence, number = _event(pick, number, she.capitalize(), FORMS[he][1], thing, where)
        said.append(sentence)
    said.append(
        f"Now {who} had {NUMBERS[number]} {colour} {things(number, thing)}, and {other} was no longer {feeling}."
    )
    said.append(f"{who} and {other} left the {where}, and {FORMS[he][0]} thanked {her} for the {thing}s.")
    return " ".join(said)


def _event(pick: Pick, number: int, she: str, him: str, thing: str, where: str) -> tuple[str, int]:
    """Something happens to the things: what is said of it, and how many there are then."""
    kinds = ["give", "lose"] * (number > 1) + ["find", "buy"] * (number < MOST)
    kind = pick(kinds)
    few = range(1, number) if kind in ("give", "lose") else range(1, MOST + 1 - number)
    some = few[0] if len(few) == 1 else pick(few)  # a choice of one is none
    if kind == "give":
        return f"{she} gave {him} {NUMBERS[some]} of the {thing}s.", number - some
    if kind == "lose":
        return f"{she} lost {NUMBERS[some]} of the {thing}s.", number - some
    if kind == "find":
        return f"Behind the {where} {she.lower()} found {NUMBERS[some]} more.", number + some
    return f"{she} bought {NUMBERS[some]} more.", number + some


def floor(stories: int = 2_000, seed: int = 1) -> float:
    """The perplexity a word, ends counted, below which no model can stay: that of the stories' own chances."""
    rng, nats, words = Random(f"{seed} floor"), 0.0, 0

    def pick(options: Sequence[Any]) -> Any:
        nonlocal nats
        nats += math.log(len(options))
        return rng.choice(options)

    for _ in range(stories):
        words += len(tell(pick).split()) + 1
    return math.exp(nats / words)


class Stories(Hashed):
    """Short stories in which names, pronouns and counts agree (language)."""

    def __init__(
        self, train: TrainSize = 8_000, valid: ValidSize = 400, test: TestSize = 800, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        """A story's own hash says to which part it belongs."""
        rng = Random(f"{self.seed} stories {split}")
        made: dict[str, None] = {}
        while len(made) < size:
            text = tell(rng.choice)
            if first <= place((text,), self.seed) < last:
                made[text] = None
        return [Example((text,), "", "builtin:stories") for text in made]
