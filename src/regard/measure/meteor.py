r"""METEOR of the whole set, 0 to 100: words shared with the target, as they are or by their stem, and in what pieces.

Banerjee & Lavie 2005, "METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with Human Judgments",
section 2. Of all ways to match words one to one, those with the most matches are taken, among them those with the most
exact ones, and of these one with the fewest chunks: runs of words that stand side by side in both texts.

    P = m / written,   R = m / wanted,   F = P R / (α P + (1 − α) R)
    meteor = F (1 − γ (chunks / m)^β)

Matches m, chunks and lengths are summed over the set first, as the paper's system score is. Of several references the
one counts by which the text alone scores best. A match by stem counts
`stem` of an exact one in P and R: 1 in 2005; Denkowski & Lavie 2014, "Meteor Universal", have 0.6, and for English
α = 0.85, β = 0.2, γ = 0.6.

This is the variant that needs no data: exact words and stems (Snowball's), no synonyms, no paraphrases, no lower
weight for function words. Texts are lower-cased; words are \w+ and every other sign stands alone.

    Meteor(language="german")(results)  →  {"meteor": 38.2, "meteor_variant": "exact+stem, alpha=0.9 …"}
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from regard.errors import RegardError
from regard.find import nearest
from regard.measure import Results
from regard.ranges import NonNegative, Probability, ranged

__all__ = ["Meteor", "chunks", "matches"]

Words = Sequence[tuple[str, str]]  # each word with its stem
width = 64  # ways to match that are followed at a time; sentences seldom have as many


def matches(written: Words, wanted: Words) -> tuple[int, int]:
    """How many words match exactly, and how many more by their stem, at the most."""
    one, other = Counter(written), Counter(wanted)
    exact = one & other
    left = [Counter(stem for _, stem in (words - exact).elements()) for words in (one, other)]
    return exact.total(), (left[0] & left[1]).total()


def chunks(written: Words, wanted: Words) -> int:
    """The fewest chunks of any way to match as many words as `matches` says; exact while `width` ways are enough.

    Word by word, a way is known by the words of the target it has used, the one used last, and what it may still
    spend: words of a stem left without a match, words of a form not matched exactly, words of the target of a form
    matched only by stem. It may spend what the most matches leave, so every way ends with that many.
    """
    one, other = Counter(written), Counter(wanted)
    ours, theirs = (Counter(stem for _, stem in words) for words in (written, wanted))
    spare: dict[tuple[str, ...], int] = {("unmatched", stem): count for stem, count in (ours - theirs).items()}
    spare |= {("inexact", *word): count for word, count in (one - other).items()}
    spare |= {("only by stem", *word): count for word, count in (other - one).items()}
    number = {name: row for row, name in enumerate(spare)}
    places: dict[str, list[int]] = {}
    for place, (_, stem) in enumerate(wanted):
        places.setdefault(stem, []).append(place)

    def spend(purse: tuple[int, ...], *names: tuple[str, ...]) -> tuple[int, ...] | None:
        left = list(purse)
        for name in names:
            if name not in number or not left[number[name]]:
                return None
            left[number[name]] -= 1
        return tuple(left)

    nowhere = -2  # no place follows it
    ways = {(0, nowhere, tuple(spare.values())): 0}  # words used (a bit each), the last of them, the purse: chunks
    for word in written:
        after: dict[tuple[int, int, tuple[int, ...]], int] = {}
        for (used, last, purse), count in ways.items():
            steps = [(nowhere, used, spend(purse, ("unmatched", word[1]), ("inexact", *word)))]
            for place in places.get(word[1], ()):
                if not used >> place & 1:
                    cost = () if wanted[place] == word else (("inexact", *word), ("only by stem", *wanted[place]))
                    steps.append((place, used | 1 << place, spend(purse, *cost)))
            for place, taken, left in steps:
                if left is not None:
                    new = count + (place not in (nowhere, last + 1))
                    after[taken, place, left] = min(new, after.get((taken, place, left), new))
        ways = dict(sorted(after.items(), key=lambda way: way[1])[:width])
    return min(ways.values())


class Meteor:
    """METEOR with exact and stem matches, 0 to 100."""

    better: Literal["higher", "lower"] = "higher"

    @ranged
    def __init__(
        self,
        language: Annotated[str, "language of the Snowball stemmer, for example english or german"] = "english",
        alpha: Annotated[Probability, "weight of recall against precision"] = 0.9,
        beta: Annotated[NonNegative, "exponent of the fragmentation penalty"] = 3.0,
        gamma: Annotated[Probability, "largest fragmentation penalty, as a share of the score"] = 0.5,
        stem: Annotated[Probability, "weight of a stem match; an exact match has weight 1"] = 1.0,
    ) -> None:
        self.language, self.alpha, self.beta, self.gamma, self.stem = language, alpha, beta, gamma, stem

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = results.pairs()
        texts = [[re.findall(r"\w+|[^\w\s]", text.lower()) for text in (p.text, *e.references)] for e, p in pairs]
        stems = self._stems({word for some in texts for text in some for word in text})
        counts = []
        for some in texts:
            written, *every = ([(word, stems[word]) for word in text] for text in some)
            ways = [
                (*matches(written, one), chunks(written, one), len(written), len(one)) for one in every
            ]  # matches by word and by stem, chunks, lengths
            counts.append(max(ways, key=lambda way: self._score(*way)))  # of equals the first
        variant = f"exact+stem, alpha={self.alpha:g} beta={self.beta:g} gamma={self.gamma:g}"
        variant += f" stem={self.stem:g}, {self.language}, lower-cased"
        return {"meteor": 100 * self._score(*map(sum, zip(*counts, strict=True))), "meteor_variant": variant}

    def _score(self, exact: int, by_stem: int, chunks: int, written: int, wanted: int) -> float:
        normalized = exact + self.stem * by_stem
        if not normalized:
            return 0.0
        P, R = normalized / written, normalized / wanted
        F = P * R / (self.alpha * P + (1 - self.alpha) * R)
        return float(F * (1 - self.gamma * (chunks / (exact + by_stem)) ** self.beta))

    def _stems(self, words: Iterable[str]) -> dict[str, str]:
        import snowballstemmer  # here, so that the command line starts without it

        languages = snowballstemmer.algorithms()
        if self.language not in languages:
            raise RegardError(f"METEOR language={self.language!r}", do=nearest(self.language, languages))
        stem = snowballstemmer.stemmer(self.language).stemWord
        return {word: stem(word) for word in words}
