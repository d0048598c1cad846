"""Pairs of generated sentences → how similar they are, from 1 (unrelated) to 5 (the same meaning): "3.4".

The sentences are those of `_sentences`, without relative clauses. Each meaning has up to eight parts; with w their
weights and s how alike they are in the two sentences, over the parts that either has,

    likeness = 1 + 4 · Σ w s / Σ w,  to one decimal

| part | w | s |
|---|---|---|
| the doer's noun, the verb | 3 | `2 |A ∩ B| / (|A| + |B|)` of the words A and B, each with all that stand above it |
| the thing, the place | 2, 1 | the same; 0 where one has none |
| the doer's adjective, the thing's, the manner | 1 | 1 where equal, else 0 |
| the quantifier | 2 | `|A ∩ B| / |A ∪ B|` of the numbers, of six doers, that may do the deed |

So poodle and dog (poodle, dog, animal; dog, animal) are alike to 4/5, some (1 to 6) and at least two (2 to 6) to 5/6,
some and no to 0. The order of the sentences does not matter; 5.0 is for the same meaning alone, whatever the words
(the passive, "There is …"). The form is that of SICK (Marelli 2014).

    Likeness(train=20_000).splits().train[0]
"""

from collections.abc import Iterator
from random import Random

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.builtin._sentences import UP, Claim, Phrase, change, draw, say
from regard.data.splits import Splits
from regard.types import Example

__all__ = ["Likeness", "likeness"]

DOERS = 6  # enough that no two quantifiers allow the same numbers


def likeness(one: Claim, other: Claim) -> float:
    """The exact value, before it is rounded; of claims without relative clauses."""
    top = total = 0.0
    for weight, alike in _parts(one, other):
        top += weight * alike
        total += weight
    return 1 + 4 * top / total


def _parts(one: Claim, other: Claim) -> Iterator[tuple[int, float]]:
    """Weight and likeness of every part that either has."""
    a, b = _numbers(one), _numbers(other)
    yield 2, len(a & b) / len(a | b)
    nothing = Phrase("")
    for weight, x, y in (
        (3, one.doer.noun, other.doer.noun),
        (3, one.deed.verb, other.deed.verb),
        (2, (one.deed.thing or nothing).noun, (other.deed.thing or nothing).noun),
        (1, one.deed.place, other.deed.place),
        (1, one.doer.adjective, other.doer.adjective),
        (1, (one.deed.thing or nothing).adjective, (other.deed.thing or nothing).adjective),
        (1, one.deed.manner, other.deed.manner),
    ):
        if x or y:
            a_words, b_words = _wider(x), _wider(y)
            yield weight, 2 * len(a_words & b_words) / (len(a_words) + len(b_words))


def _wider(word: str) -> frozenset[str]:
    """The word and what stands above it, of what is ever said; nothing of nothing."""
    return UP.get(word, frozenset({word})) - {"acting", ""}


def _numbers(claim: Claim) -> frozenset[int]:
    """How many of `DOERS` doers may do the deed."""
    counted = {n: DOERS - n if claim.negated else n for n in range(DOERS + 1)}
    return frozenset(n for n, group in counted.items() if (group >= claim.number) is claim.least)


class Likeness(Builtin):
    """Pairs of sentences → how similar they are, 1 to 5 (relate).

    Each half point of the scale has its equal share.
    """

    def __init__(
        self, train: TrainSize = 20_000, valid: ValidSize = 1_000, test: TestSize = 2_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def splits(self) -> Splits:
        met: set[frozenset[Claim]] = set()
        return Splits(
            train=self._make("train", self.train, met),
            valid=self._make("valid", self.valid, met),
            test=self._make("test", self.test, met),
        )

    def _make(self, split: str, size: int, met: set[frozenset[Claim]]) -> list[Example]:
        rng = Random(f"{self.seed} likeness {split}")
        room = [size // 8 + (step < size % 8) for step in range(8)]  # for each half point
        examples: list[Example] = []
        while len(examples) < size:
            one = other = draw(rng, clauses=0.0)
            for _ in range(rng.randrange(12)):
                other = change(rng, other)
            if rng.random() < 0.2:
                other = draw(rng, clauses=0.0)
            if other.doer.deed or frozenset((one, other)) in met:
                continue
            score = likeness(one, other)
            step = min(int(2 * (score - 1)), 7)
            if room[step] and (texts := [say(one, rng), say(other, rng)])[0] != texts[1]:
                room[step] -= 1
                met.add(frozenset((one, other)))
                rng.shuffle(texts)
                examples.append(Example(tuple(texts), f"{score:.1f}", "builtin:likeness"))
        rng.shuffle(examples)
        return examples
