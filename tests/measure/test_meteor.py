import subprocess
import sys
from collections.abc import Iterator
from random import Random

import pytest

from regard.errors import RegardError
from regard.find import build
from regard.measure import Measure, Results
from regard.measure.meteor import Meteor, Words, chunks, matches
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str]) -> Results:
    """(target, written)"""
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def meteor(*pairs: tuple[str, str], **options: object) -> float:
    return float(Meteor(**options)(results(*pairs))["meteor"])  # type: ignore[arg-type]


def test_by_hand():
    """All six words match, in three chunks: the cat, sat, on the mat.

    P = R = F = 1, the penalty 0.5 · (3/6)³ = 1/16.
    """
    assert meteor(("on the mat sat the cat", "the cat sat on the mat")) == pytest.approx(100 * 15 / 16)


def test_the_papers_example():
    """Banerjee & Lavie, section 2.2: "the president then spoke to the audience" against "the president spoke to the
    audience" has two chunks. Here P = 6/7, R = 1, F = 10 P R / (R + 9 P) = 60/61, the penalty 0.5 · (2/6)³.
    """
    found = meteor(("the president spoke to the audience", "the president then spoke to the audience"))
    assert found == pytest.approx(100 * (60 / 61) * (1 - 0.5 / 27))


def test_recall_weighs_nine_times_as_much():
    """Half a target found: P = 1, R = 1/2, F = 10 · 1/2 / (1/2 + 9) = 10/19; one chunk of two words."""
    assert meteor(("a b c d", "a b")) == pytest.approx(100 * (10 / 19) * (1 - 0.5 / 8))
    assert meteor(("a b", "a b c d")) == pytest.approx(100 * (10 * 0.5 / (1 + 9 * 0.5)) * (1 - 0.5 / 8))


def test_stems():
    """Two matches by stem in one chunk; less where stems weigh less."""
    pair = ("cat sleeps", "cats sleeping")
    assert meteor(pair) == pytest.approx(100 * (1 - 0.5 / 8))
    assert meteor(pair, stem=0.6) == pytest.approx(60 * (1 - 0.5 / 8))
    assert meteor(pair, stem=0.0) == 0
    assert meteor(("Häuser", "Haus"), language="german") == pytest.approx(50)
    assert meteor(("Häuser", "Haus")) == 0


def test_exact_words_come_before_stems():
    """cats → cats and cat → cat cross: two chunks, though by stem alone there would be one."""
    assert chunks([("cats", "cat"), ("cat", "cat")], [("cat", "cat"), ("cats", "cat")]) == 2
    assert matches([("cats", "cat"), ("cat", "cat")], [("cat", "cat"), ("cats", "cat")]) == (2, 0)
    assert matches([("cats", "cat")] * 2, [("cat", "cat"), ("cats", "cat")]) == (1, 1)


def test_the_whole_set_is_counted_together():
    """One of two words, in one chunk, and both of two, in one: m = 3 of 4, two chunks."""
    assert meteor(("a b", "a x"), ("c d", "c d")) == pytest.approx(75 * (1 - 0.5 * (2 / 3) ** 3))


def test_signs_are_words_and_case_is_not_seen():
    assert meteor(("Yes, please.", "yes , please .")) == pytest.approx(100 * (1 - 0.5 / 64))
    assert meteor(("Yes!", "yes")) == pytest.approx(100 * (10 * 0.5 / (0.5 + 9)) * 0.5)


def test_nothing_in_common_or_nothing_at_all():
    for pair in (("a b", "c d"), ("", ""), ("a", ""), ("", "a")):
        assert meteor(pair) == 0


def alignments(written: Words, wanted: Words) -> Iterator[tuple[int | None, ...]]:
    """Every way to match words of one stem one to one: a place in the target, or none, for each word."""
    if not written:
        yield ()
        return
    *rest, (_, stem) = written
    for way in alignments(rest, wanted):
        yield (*way, None)
        yield from ((*way, p) for p, (_, its) in enumerate(wanted) if its == stem and p not in way)


def test_against_every_way_to_match(monkeypatch):
    """Most matches, most exact ones among them, fewest chunks among those: by trying all.

    Where only one way is followed at a time it still ends with all matches, if in more chunks.
    """
    random = Random(1)
    forms = [("a", "a"), ("as", "a"), ("aed", "a"), ("b", "b"), ("bs", "b"), ("c", "c")]
    for _ in range(150):
        written, wanted = (random.choices(forms, k=random.randint(0, 6)) for _ in range(2))

        def counted(way: tuple[int | None, ...]) -> tuple[int, int, int]:
            pairs = [(i, p) for i, p in enumerate(way) if p is not None]
            exact = sum(written[i] == wanted[p] for i, p in pairs)  # noqa: B023
            return -len(pairs), -exact, sum((i - 1, p - 1) not in pairs for i, p in pairs)

        total, exact, fewest = min(map(counted, alignments(written, wanted)))
        assert matches(written, wanted) == (-exact, exact - total)
        assert chunks(written, wanted) == fewest
        with monkeypatch.context() as narrow:
            narrow.setattr("regard.measure.meteor.width", 1)
            assert fewest <= chunks(written, wanted) <= -total


def test_long_texts_are_not_slow():
    """Two hundred words, of which every fifth is "the": there are far more ways than are followed."""
    random = Random(2)
    text = [random.choice(["the", "of", "a", *map(str, range(12))]) for _ in range(200)]
    pairs = [(word, word) for word in text]
    assert chunks(pairs, pairs) == 1
    assert 1 < chunks(random.sample(pairs, 200), pairs) <= 200


def test_it_is_a_measure_and_says_which():
    measure = build("measure", "meteor")
    assert isinstance(measure, Measure)
    assert measure.better == "higher"
    found = measure(results(("a", "a")))
    assert next(iter(found)) == "meteor"
    assert found["meteor_variant"] == "exact+stem, alpha=0.9 beta=3 gamma=0.5 stem=1, english, lower-cased"
    with pytest.raises(RegardError, match="no examples"):
        measure(results())


def test_options():
    pair = ("on the mat sat the cat", "the cat sat on the mat")
    assert meteor(pair, gamma=0.0) == pytest.approx(100)
    assert meteor(pair, gamma=0.6, beta=0.2) == pytest.approx(100 * (1 - 0.6 * 0.5**0.2))
    assert meteor(("a b c d", "a b"), alpha=0.5, gamma=0.0) == pytest.approx(100 * 2 / 3)
    with pytest.raises(RegardError, match=r"language='englich'; did you mean 'english'\?"):
        meteor(pair, language="englich")
    for wrong in ({"alpha": 1.5}, {"gamma": -0.1}, {"stem": 2.0}, {"beta": -1.0}, {"beta": float("inf")}):
        with pytest.raises(RegardError, match=r": got .* expected a number from 0 to"):
            Meteor(**wrong)


@pytest.mark.sweep
def test_stemming_is_brought_in_late():
    code = "import sys, regard.measure.meteor; print('snowballstemmer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "False", done.stderr


def several(*rows: tuple[str, ...]) -> float:
    """(written, target, alternatives …)"""
    examples = [Example(("?",), target, alternatives=tuple(more)) for _, target, *more in rows]
    return float(Meteor()(Results(examples, [Prediction(text, 0.0) for text, *_ in rows]))["meteor"])


def test_the_best_of_several_references_by_hand():
    """Three chunks by the first, one by the second; in a set, the counts of the better one are summed."""
    text, worse = "the cat sat on the mat", "on the mat sat the cat"
    assert several((text, worse, text)) == several((text, text, worse)) == pytest.approx(100 * (1 - 0.5 / 6**3))
    # m = 6 + 1 of 6 + 2 words, in two chunks: P = R = 7/8.
    assert several((text, worse, text), ("a x", "a b")) == pytest.approx(100 * 7 / 8 * (1 - 0.5 * (2 / 7) ** 3))


def test_a_worse_reference_never_lowers_it():
    random = Random(4)
    for _ in range(60):
        text, one, other = (" ".join(random.choices("abcd", k=random.randint(1, 6))) for _ in range(3))
        best = max(several((text, one)), several((text, other)))
        assert several((text, one, other)) == several((text, other, one)) == pytest.approx(best)
