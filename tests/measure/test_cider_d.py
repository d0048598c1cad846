"""CIDEr-D: a number by hand, and the published formula computed the long way."""

import math
from random import Random

import pytest

from regard.measure import Results
from regard.measure.cider_d import CiderD
from regard.types import Example, Prediction

Row = tuple[str, tuple[str, ...]]


def cider(*rows: Row) -> float:
    examples = [Example(("picture",), first, alternatives=tuple(others)) for _, (first, *others) in rows]
    return float(CiderD()(Results(examples, [Prediction(text, 0.0) for text, _ in rows]))["cider_d"])


def test_a_number_by_hand() -> None:
    """Two pictures. "a" is in the references of both and weighs log 2 − log 2 = 0, all else log 2. Of "a dog" and
    "a dog runs" the words share dog: 1·1 / (1 · √2). Of bigrams both have "a dog": 1·1 / (1 · √2). One word of
    difference costs exp(−1/72). The second picture's caption is its reference: 1 for words and bigrams; neither has a
    trigram."""
    short = (1 / math.sqrt(2)) * math.exp(-1 / 72)
    expected = 1000 * ((short + short) / 4 + (1 + 1) / 4) / 2
    assert cider(("a dog", ("A dog runs.",)), ("a cat", ("a cat",))) == pytest.approx(expected)


def test_what_is_repeated_earns_nothing_more() -> None:
    other = ("a cat", ("a cat",))
    once, often = (cider((text, ("a dog runs far",)), other) for text in ("dog runs", "dog dog"))
    assert once > often > cider((" ", ("a dog runs far",)), other)


def test_a_picture_alone_has_no_rare_words() -> None:
    assert cider(("a dog", ("a dog",))) == 0.0


def brute(rows: list[Row]) -> float:
    """coco-caption's CiderScorer, step by step: dense vectors over all n-grams that occur anywhere, one order at a
    time, with its lengths counted in bigrams."""
    texts = [(written.split(), [one.split() for one in every]) for written, every in rows]

    def grams(words: list[str], n: int) -> list[tuple[str, ...]]:
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    total = 0.0
    for written, every in texts:
        per_order = [0.0] * 4
        for n in range(1, 5):
            every_gram = sorted({g for w, es in texts for one in (w, *es) for g in grams(one, n)})

            def vector(words: list[str], n: int = n, known: list[tuple[str, ...]] = every_gram) -> list[float]:
                found = []
                for gram in known:
                    df = sum(any(gram in grams(one, n) for one in es) for _, es in texts)
                    found.append(grams(words, n).count(gram) * (math.log(len(texts)) - math.log(max(1.0, df))))
                return found

            hypothesis = vector(written)
            for one in every:
                reference = vector(one)
                dot = sum(min(h, r) * r for h, r in zip(hypothesis, reference, strict=True))
                norm = math.sqrt(sum(h * h for h in hypothesis)) * math.sqrt(sum(r * r for r in reference))
                delta = len(grams(written, 2)) - len(grams(one, 2))
                per_order[n - 1] += (dot / norm if norm else dot) * math.exp(-(delta**2) / (2 * 6.0**2))
        total += sum(per_order) / 4 / len(every) * 10
    return 100 * total / len(texts)


def test_it_is_the_published_formula() -> None:
    random = Random(3)

    def sentence() -> str:
        return " ".join(random.choices("abcdefg", k=random.randint(2, 9)))

    rows = [(sentence(), tuple(sentence() for _ in range(random.randint(1, 4)))) for _ in range(12)]
    assert cider(*rows) == pytest.approx(brute(rows), rel=1e-12)
    assert cider(*rows) > 10


def test_numbers_of_the_published_implementation() -> None:
    """What `CiderScorer` of github.com/tylin/coco-caption (pycocoevalcap/cider/cider_scorer.py, commit 274cef6) gives
    for these four pictures, run under Python 3; it gives a hundredth of what is reported here."""
    rows: list[Row] = [
        (
            "a dog runs on the green grass",
            ("a brown dog runs on the grass", "a dog is running across a green field"),
        ),
        (
            "two children play with a red ball",
            (
                "two children are playing with a ball",
                "kids play with a red ball in the park",
                "two children play outside",
            ),
        ),
        (
            "a man rides a bike down the street",
            ("a man is riding a bicycle on the street", "a cyclist rides down the road"),
        ),
        (
            "a dog jumps over a red ball",
            ("a black dog jumps into the water", "a wet dog jumps over the waves"),
        ),
    ]
    assert cider(*rows) == pytest.approx(100 * 2.464454255909949, rel=1e-9)
