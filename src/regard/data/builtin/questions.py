"""Short stories with a question about each, the answer, and the sentence that gives it.

"Nora walked to the harbour on Monday. There she bought a red kite for seven euros. Felix stayed at the mill because the
bus had broken down. …"    Why did Felix stay at the mill?    → the bus had broken down

Three people do two or three things each, in sentences of the same kinds, so that only the one the question means tells
its answer; some sentences say "he" or "she". Every answer is a part of the story. `spans` has its characters and
`evidence` those of its sentence, so it can be measured how much attention lies there. All is drawn at random; no story
is in two parts.

    Questions(train=6_000).splits().train[0]       # Example((story, question), "the harbour", …)
"""

from collections.abc import Iterator
from random import Random

from regard.data.builtin._builtin import DataSeed, Hashed, TestSize, TrainSize, ValidSize
from regard.data.splits import place
from regard.types import Example

__all__ = ["Questions", "story"]

GIRLS = ("Anna", "Clara", "Emma", "Grace", "Ida", "Julia", "Maria", "Nora", "Rosa", "Sophie")
BOYS = ("Ben", "David", "Felix", "Henry", "Jonas", "Leo", "Martin", "Oscar", "Paul", "Tom")
PLACES = ("market", "harbour", "library", "park", "mill", "station", "castle", "bridge", "bakery", "museum")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
COLOURS = ("red", "green", "blue", "yellow", "white", "golden", "black")
THINGS = ("kite", "lamp", "hat", "drum", "clock", "basket", "scarf", "mirror", "kettle", "bicycle")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
JOBS = ("baker", "doctor", "teacher", "sailor", "painter", "gardener", "pilot", "singer")
REASONS = (
    *("the bus had broken down", "it was raining", "the bridge was closed", "the shop was full"),
    *("the train was late", "a dog had run away", "the road was icy", "a wheel was broken"),
)
WALKED = ("walked", "went", "drove", "cycled")

Said = tuple[str, tuple[tuple[str, str], ...]]
"""A sentence, and questions about it, each with an answer that is a part of the sentence."""


def _tell(chance: Random, who: str, she: str, other: str, where: str) -> Iterator[Said]:
    """What one person does: where and when they go, and one or two things more."""
    pick = chance.choice
    day, walked = pick(DAYS), pick(WALKED)
    yield (
        f"{who} {walked} to the {where} on {day}.",
        (
            (f"Where did {who} go?", f"the {where}"),
            (f"When did {who} go to the {where}?", f"on {day}"),
        ),
    )
    kinds = chance.sample(("bought", "met", "stayed", "found"), chance.randint(1, 2))
    for number, kind in enumerate(kinds):
        name = she.capitalize() if number == 0 and pick((True, False)) else who
        colour, thing, price, job, reason = pick(COLOURS), pick(THINGS), pick(NUMBERS), pick(JOBS), pick(REASONS)
        if kind == "bought":
            yield (
                f"{name} bought a {colour} {thing} for {price} euros.",
                (
                    (f"What did {who} buy?", f"a {colour} {thing}"),
                    (f"What colour was the {thing} that {who} bought?", colour),
                    (f"How much did {who} pay for the {thing}?", f"{price} euros"),
                ),
            )
        elif kind == "met":
            yield (
                f"{name} met {other}, who worked as a {job}.",
                (
                    (f"Whom did {who} meet?", other),
                    (f"What was the job of the person {who} met?", job),
                ),
            )
        elif kind == "stayed":
            yield (
                f"{name} stayed for {price} hours because {reason}.",
                (
                    (f"Why did {who} stay?", reason),
                    (f"How long did {who} stay?", f"{price} hours"),
                ),
            )
        else:
            yield (
                f"{name} found a {colour} {thing} behind the {pick(PLACES)}.",
                ((f"What did {who} find?", f"a {colour} {thing}"),),
            )


def story(chance: Random) -> tuple[str, list[tuple[str, str, int, tuple[int, int]]]]:
    """A story and its questions, each with its answer, where that begins, and its sentence."""
    people = chance.sample(GIRLS + BOYS, 3)
    others = chance.sample([name for name in GIRLS + BOYS if name not in people], 3)
    text, questions = "", []
    for who, other, where in zip(people, others, chance.sample(PLACES, 3), strict=True):
        for sentence, asked in _tell(chance, who, "she" if who in GIRLS else "he", other, where):
            start = len(text) + bool(text)
            text = f"{text} {sentence}" if text else sentence
            for question, answer in asked:
                questions.append((question, answer, start + sentence.index(answer), (start, len(text))))
    return text, questions


class Questions(Hashed):
    """Short stories and a question about each → the answer (answer)."""

    def __init__(
        self, train: TrainSize = 8_000, valid: ValidSize = 400, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        """A story's own hash says to which part it belongs. Each has one question of all that could be asked."""
        chance = Random(f"{self.seed} questions {split}")
        made: dict[str, Example] = {}
        while len(made) < size:
            text, questions = story(chance)
            question, answer, start, evidence = chance.choice(questions)
            if text not in made and first <= place((text,), self.seed) < last:
                span = (start, start + len(answer))
                made[text] = Example((text, question), answer, "builtin:questions", spans=(span,), evidence=(evidence,))
        return list(made.values())
