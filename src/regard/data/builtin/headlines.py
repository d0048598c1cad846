"""Generated reports of a few sentences → their headline: "Barton baker finds golden ring on Monday".

One sentence says what happened. Who the person is and where may be said there or in another sentence, by name only.
The others distract: what someone else did a year ago, what the same person will do next week, what a passer-by said,
the weather elsewhere; each with names, towns, days and deeds of its own. They stand in any order.

**Every report has one headline**: only one deed is told as done now (a year ago it "had" been done, next week it
"will" be), and family names do not repeat. **The alignment is known**: each example links the words of the headline to
those of the report they come from.

    Headlines(train=20_000).splits().train[0]
"""

from collections.abc import Mapping
from functools import cache
from random import Random
from string import Formatter

from regard.data.builtin._builtin import DataSeed, Hashed, TestSize, TrainSize, ValidSize
from regard.data.splits import place
from regard.types import Example, Link

__all__ = ["Facts", "Headlines", "draw", "fill", "report"]

LEXICON = """
first: Adam Bella Carl Dora Erik Frieda George Helen Ivan Jane Kurt Laura Max Nina Otto Ruth Simon Tina
last: Archer Bennett Carter Dawson Ellis Foster Grant Harper Irving Jensen Keller Lawson Morton Newman Parker
role: baker barber chemist doctor driver farmer gardener lawyer mayor nurse painter sailor teacher writer
town: Aston Barton Colby Denby Elton Fenby Garth Holme Kirkby Langley Melton Norby Oxton Selby
deed: buy build find lose paint rescue sell steal
adjective: broken famous golden huge little lovely rare silver strange wooden
thing: boat bridge castle clock garden horse mill picture ring statue table tower
day: Monday Tuesday Wednesday Thursday Friday Saturday Sunday
"""
WORDS = {kind: words.split() for kind, words in (line.split(": ") for line in LEXICON.strip().split("\n"))}
# Past, participle, and what a headline says.
DEEDS = {
    "buy": ("bought", "bought", "buys"),
    "build": ("built", "built", "builds"),
    "find": ("found", "found", "finds"),
    "lose": ("lost", "lost", "loses"),
    "paint": ("painted", "painted", "paints"),
    "rescue": ("rescued", "rescued", "rescues"),
    "sell": ("sold", "sold", "sells"),
    "steal": ("stole", "stolen", "steals"),
}

HEADLINE = "{town} {role} {deed} {adjective} {thing} on {day}"
EVENT = "{first} {last}{is_role} {deed} a {adjective} {thing}{in_town} on {day}."
# What the sentence above leaves out.
WHO = ("{last} has been a {role} for {years} years.", "Friends say that {last} is a fine {role}.")
WHERE = ("{last} lives in {town}.", "The people of {town} know {last} well.")
BOTH = ("{last} is a {role} in {town}.", "In {town} {last} works as a {role}.")
ASIDE = (
    "A year ago {first} {last}, a {role}, had {participle} a {adjective} {thing} in {town}.",
    "A {role} from {town}, {first} {last}, said that it was {adjective}.",
    "It rained in {town} until {day}.",
    "The old {thing} cost {years} pounds.",
    "Nobody in {town} had heard of it before {day}.",
)
SEQUEL = "Next {day} {last} will {infinitive} a {adjective} {thing}."

Spans = dict[str, tuple[int, int]]


Facts = dict[str, str]
"""Who did what, where and when: a word of each kind, the deed as an infinitive."""


def draw(rng: Random, last: str) -> Facts:
    return {kind: rng.choice(words) for kind, words in WORDS.items()} | {
        "last": last,
        "years": str(rng.randrange(2, 90)),
    }


@cache
def _parsed(template: str) -> list[tuple[str, str | None]]:
    return [(before, field) for before, field, _, _ in Formatter().parse(template)]


def fill(template: str, values: Mapping[str, str]) -> tuple[str, Spans]:
    """The template with its fields filled in, and where each of them stands."""
    text, spans = "", Spans()
    for before, field in _parsed(template):
        text += before
        if field:
            spans[field] = len(text), len(text) + len(values[field])
            text += values[field]
    return text, spans


def told(facts: Facts) -> Facts:
    """The facts as a report says them."""
    past, participle, _ = DEEDS[facts["deed"]]
    return {**facts, "deed": past, "infinitive": facts["deed"], "participle": participle}


def headline(facts: Facts) -> tuple[str, Spans]:
    return fill(HEADLINE, {**facts, "deed": DEEDS[facts["deed"]][-1]})


def report(rng: Random, facts: Facts) -> Example:
    """A report of these facts, with its headline."""
    family = rng.sample([name for name in WORDS["last"] if name != facts["last"]], 3)
    with_role, with_town = rng.choice(((True, False), (False, True), (False, False)))
    is_role, in_town = ", a {role}," * with_role, " in {town}" * with_town
    event = EVENT.replace("{is_role}", is_role).replace("{in_town}", in_town)
    more = rng.choice(WHERE if with_role else WHO if with_town else BOTH)
    sentences = [fill(one, told(facts)) for one in (event, more)]
    aside = [(template, family.pop()) for template in rng.sample(ASIDE, rng.randrange(1, 4))]
    aside += [(SEQUEL, facts["last"])] * (rng.random() < 0.5)
    sentences += [(fill(template, told(draw(rng, last)))[0], {}) for template, last in aside]
    rng.shuffle(sentences)

    text, found = "", Spans()
    for sentence, spans in sentences:
        text += " " * bool(text)
        found |= {field: (start + len(text), end + len(text)) for field, (start, end) in spans.items()}
        text += sentence
    target, there = headline(facts)
    return Example((text,), target, "builtin:headlines", tuple(Link(*there[field], *found[field]) for field in there))


class Headlines(Hashed):
    """Short reports → their headlines (summarise)."""

    def __init__(
        self, train: TrainSize = 20_000, valid: ValidSize = 500, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        """A headline's own hash says to which part it belongs."""
        rng = Random(f"{self.seed} headlines {split}")
        made: list[Example] = []
        while len(made) < size:
            facts = draw(rng, rng.choice(WORDS["last"]))
            if first <= place((headline(facts)[0],), self.seed) < last:
                made.append(report(rng, facts))
        return made
