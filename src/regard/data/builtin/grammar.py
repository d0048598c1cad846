"""Pairs of generated sentences → entailment, neutral or contradiction, as it follows from their grammar.

"No animal is moving" entails "Not every wet poodle is jogging"; "At least two girls are pushing a red cart outdoors"
contradicts "Fewer than two children are pushing a vehicle". Hypernyms, quantifiers and their monotonicity, numbers,
negation, adjectives, relative clauses, adverbs, places and the passive all play their part (see `_sentences`).

**Every label is true.** A premise p entails h if h holds in every world in which p does, and contradicts it if h
holds in none. Worlds obey the order and the exclusions of the lexicon, "a" thing stands in the scope of the doer,
and **every doer spoken of in either sentence exists**: "Every wet dog is resting" entails "A wet dog is resting" (von
Fintel 1999 calls this Strawson entailment). Pairs whose premise denies that a doer of the hypothesis exists are not
made. The labels are those of SNLI (Bowman 2015).

**The hypothesis alone says nothing.** Each hypothesis stands with three premises, one for each label, in one part.
Premises are the hypothesis with one to four of its parts changed.

    Grammar(train=20_000).splits().train[0]
    relation(premise, hypothesis)  # of two claims
"""

from collections.abc import Sequence
from itertools import combinations
from random import Random

from regard.data.builtin._builtin import DataSeed, Hashed, TestSize, TrainSize, ValidSize
from regard.data.builtin._sentences import UP, Claim, Deed, Phrase, change, coherent, draw, exclude, say, within
from regard.data.splits import place
from regard.types import Example

__all__ = ["Grammar", "relation"]

LABELS = ("entailment", "neutral", "contradiction")


def relation(premise: Claim, hypothesis: Claim) -> str:
    """One of `LABELS`; "" where no world has the doers of both in which the premise holds."""
    can_hold = satisfiable(premise, hypothesis)
    can_fail = satisfiable(premise, hypothesis._replace(least=not hypothesis.least))
    return {(True, True): "neutral", (True, False): "entailment", (False, True): "contradiction"}.get(
        (can_hold, can_fail), ""
    )


def satisfiable(one: Claim, other: Claim) -> bool:
    """Whether both can hold in a world that has the doers of both.

    A claim of at least n asks for n of a group (the doers that do, or do not do, the deed), a claim of fewer than n
    allows n − 1. The group of a coherent claim can be empty, or not, as one likes, while its doers exist.
    """
    low, high = ([claim for claim in (one, other) if claim.least is least] for least in (True, False))
    if not high:
        return True
    if low:  # those asked for may keep out of the other group, or be few enough for it; its doers may too
        deeds = ([], [low[0].deed]) if low[0].negated else ([low[0].deed], [])
        return low[0].number < high[0].number or possible(low[0].doer, *deeds, high)
    # One doer of each is enough, and it can keep out of a group in which one is allowed, or be that one.
    none_allowed = [claim for claim in high if claim.number == 1]
    return all(possible(claim.doer, [], [], none_allowed) for claim in high)


def possible(doer: Phrase, does: Sequence[Deed], does_not: Sequence[Deed], barred: Sequence[Claim]) -> bool:
    """Whether there can be such a doer that is in the group of none of the barred claims.

    All conditions are Horn clauses, so it is enough to look at the one who does no more than it must: what it is
    said to do, and the deeds of claims "every such doer does …" (fewer than one does not) that it comes under.
    """
    deeds = [*does, *([doer.deed] if doer.deed else [])]
    for _ in barred:  # each may bring another into play, but once
        deeds += [c.deed for c in barred if c.negated and _is_one(doer, deeds, c.doer) and not _do(deeds, c.deed)]
    if any(_do(deeds, deed) for deed in does_not) or any(exclude(a, b) for a, b in combinations(deeds, 2)):
        return False
    return not any(_is_one(doer, deeds, c.doer) and _do(deeds, c.deed) for c in barred if not c.negated)


def _do(deeds: list[Deed], deed: Deed) -> bool:
    return any(within(done, deed) for done in deeds)


def _is_one(doer: Phrase, deeds: list[Deed], phrase: Phrase) -> bool:
    """Whether such a doer, who does these deeds, comes under the phrase."""
    return (
        phrase.noun in UP[doer.noun]
        and phrase.adjective in ("", doer.adjective)
        and (phrase.deed is None or _do(deeds, phrase.deed))
    )


class Grammar(Hashed):
    """Pairs of sentences → entailment, neutral or contradiction (entail).

    What a hypothesis means decides its part (80 % of meanings are for train, 5 % for valid, 15 % for test), so none
    of the test is met in training, whatever the sizes asked for and in whatever words.
    """

    def __init__(
        self, train: TrainSize = 20_000, valid: ValidSize = 1_000, test: TestSize = 2_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        rng = Random(f"{self.seed} grammar {split}")
        examples: list[Example] = []
        met: set[Claim] = set()
        while len(examples) < size:
            hypothesis = draw(rng)
            if hypothesis in met or not first <= place((repr(hypothesis),), self.seed) < last:
                continue
            met.add(hypothesis)
            text = say(hypothesis, rng)
            premises = self._premises(rng, hypothesis, text)
            if len(premises) == len(LABELS):
                three = [Example((premise, text), label, "builtin:grammar") for label, premise in premises.items()]
                examples += rng.sample(three, min(3, size - len(examples)))
        rng.shuffle(examples)
        return examples

    def _premises(self, rng: Random, hypothesis: Claim, text: str) -> dict[str, str]:
        """A premise for each label, where a few dozen tries find one."""
        found: dict[str, str] = {}
        for _ in range(60):
            premise = hypothesis
            for _ in range(rng.choice((1, 2, 2, 3, 3, 4))):
                premise = change(rng, premise)
            if premise == hypothesis and rng.random() < 0.7:  # in other words only: some, but not too many
                continue
            if coherent(premise) and (label := relation(premise, hypothesis)) and label not in found:
                said = say(premise, rng)
                if said != text:
                    found[label] = said
                    if len(found) == len(LABELS):
                        break
        return found
