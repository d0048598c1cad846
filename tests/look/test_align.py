"""Weights → links → text and figures: by hand, against brute force, against the textbook's pseudo-code."""

from itertools import product
from random import Random

import numpy as np
import pytest

from regard.errors import RegardError
from regard.look.align import (
    Gold,
    Links,
    attended,
    by_word,
    choose,
    from_pharaoh,
    join,
    off_by_one,
    read_gold,
    scores,
    swapped,
    to_pharaoh,
    words,
)
from regard.regions import Token
from regard.text.bpe import Bpe
from regard.text.character import Character
from regard.text.word import Word


def links(text: str) -> Links:
    return from_pharaoh(text)


def random_links(random: Random, sources: int, targets: int, chance: float = 0.3) -> Links:
    return frozenset(link for link in product(range(sources), range(targets)) if random.random() < chance)


# --- words ---


def test_words_stand_between_white_space():
    assert words(" das  ist\tgut.\u00a0") == (Token("das", 1, 4), Token("ist", 6, 9), Token("gut.", 10, 14))
    assert words("") == words(" \n") == ()


# "the cat." → "de kat": tokens the, c, at, ., end; de, k, at, end.
source = (Token("the", 0, 3), Token("c", 4, 5), Token("at", 5, 7), Token(".", 7, 8), Token("</s>", 8, 8))
target = (Token("de", 0, 2), Token("k", 3, 4), Token("at", 4, 6), Token("</s>", 6, 6))
weights = np.array(
    [
        [0.5, 0.1, 0.1, 0.1, 0.2],
        [0.2, 0.3, 0.3, 0.1, 0.1],
        [0.4, 0.0, 0.5, 0.0, 0.1],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)


def test_by_word_by_hand():
    """cat. has the sum of c, at and the stop; kat the mean of k's and at's rows; the end is no word."""
    found = by_word(weights, target, source, words("de kat"), words("the cat."))
    assert found == pytest.approx(np.array([[0.5, 0.3], [(0.2 + 0.4) / 2, (0.7 + 0.5) / 2]]))


def slowly(weights, rows, columns, row_words, column_words):
    """Token by token: no matrices."""
    found = np.zeros((len(row_words), len(column_words)))

    def of(token, those):
        characters = set(range(token.start, token.end))
        return [n for n, word in enumerate(those) if characters & set(range(word.start, word.end))]

    for j in range(len(row_words)):
        mine = [n for n, token in enumerate(rows) if j in of(token, row_words)]
        for n in mine:
            for m, token in enumerate(columns):
                owners = of(token, column_words)
                for i in owners:
                    found[j, i] += weights[n, m] / len(owners) / len(mine)
    return found


@pytest.mark.parametrize("kind", [Character(), Word(), Word(split="punctuation", lower=True), Bpe(vocab_size=40)])
def test_any_text_and_no_weight_is_lost(kind):
    texts = ["Das  ist gut, oder (nicht)? ", "ein Satz.", " ♥ unbekannt", "."]
    text = kind.train(texts[:2] * 3)
    random = np.random.default_rng(0)
    for one, other in product(texts, texts):
        columns, rows = text.tokens(one), text.tokens(other)
        weights = random.dirichlet(np.ones(len(columns)), len(rows))
        found = by_word(weights, rows, columns, words(other), words(one))
        assert found == pytest.approx(slowly(weights, rows, columns, words(other), words(one)))
        assert (found.sum(axis=1) <= 1 + 1e-9).all()
        blank = [n for n, t in enumerate(columns) if t.start == t.end or not one[t.start : t.end].strip()]
        if not blank[:-1]:  # only the end holds weight of no word
            rows_of_words = [n for n, t in enumerate(rows) if t.start < t.end]
            outside = weights[rows_of_words][:, blank].max()
            assert (found.sum(axis=1) >= 1 - outside - 1e-9).all()


def test_a_token_across_two_words_is_shared():
    both, pair = (Token("a\tb", 0, 3),), words("a\tb")
    assert by_word(np.array([[1.0]]), both, both, pair, pair) == pytest.approx(np.full((2, 2), 0.5))


def test_no_words_at_all():
    end = (Token("</s>", 0, 0),)
    assert by_word(np.ones((1, 1)), end, end, (), ()).shape == (0, 0)
    found = by_word(np.ones((1, 4)), end, (*source[:3], source[-1]), (), words("the cat"))
    assert found.shape == (0, 2)
    assert choose(found) == choose(found, "threshold") == choose(np.zeros((2, 0))) == frozenset()


# --- links ---


def test_choosing_by_hand():
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.45, 0.45], [0.0, 0.0, 0.0]])
    assert choose(rows) == links("0-0 1-1")
    assert choose(rows, "threshold", 0.3) == links("0-0 1-0 1-1 2-1")
    assert choose(rows, "threshold", 0.45) == links("0-0 1-1 2-1")
    assert choose(rows.astype(np.float32)) == links("0-0 1-1")
    for wrong in (0.0, 1.1, float("nan")):
        with pytest.raises(RegardError, match="threshold="):
            choose(rows, "threshold", wrong)


def test_turned():
    assert swapped(links("0-2 1-1")) == links("2-0 1-1")


def test_joining_by_hand():
    forward, backward = links("0-0 1-1 3-2"), links("0-0 1-1 2-1 4-4")
    assert join(forward, backward, "intersection") == links("0-0 1-1")
    assert join(forward, backward, "union") == links("0-0 1-1 2-1 3-2 4-4")
    # 2-1 is beside 1-1 and gives word 2 its link; 3-2 is then beside 2-1; 4-4 is beside nothing, but both its words
    # are still free at the end.
    assert join(forward, backward) == links("0-0 1-1 2-1 3-2 4-4")
    # 0-2 is no neighbour, and source word 0 is taken: "and" wants both free.
    assert join(links("0-0 0-2"), links("0-0")) == links("0-0")
    assert join(links("0-1"), links("1-0")) == links("0-1 1-0")  # nothing in common: only the final step
    assert join(links("0-1"), links("0-0")) == links("0-1"), "of two that exclude each other the forward one"


def textbook(forward: Links, backward: Links, sources: int, targets: int) -> Links:
    """GROW-DIAG-FINAL-AND as its pseudo-code stands, over all cells."""
    alignment = set(forward & backward)
    union = forward | backward

    def free_source(f: int) -> bool:
        return all(i != f for i, _ in alignment)

    def free_target(e: int) -> bool:
        return all(j != e for _, j in alignment)

    added = True
    while added:
        added = False
        for e in range(targets):
            for f in range(sources):
                if (f, e) not in alignment:
                    continue
                for df, de in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                    new = (f + df, e + de)
                    if new not in alignment and new in union and (free_source(new[0]) or free_target(new[1])):
                        alignment.add(new)
                        added = True
    for direction in (forward, backward):
        for e in range(targets):
            for f in range(sources):
                if (f, e) in direction and free_source(f) and free_target(e):
                    alignment.add((f, e))
    return frozenset(alignment)


def test_growing_against_the_pseudo_code():
    random = Random(0)
    seen = set()
    for _ in range(300):
        size = random.randint(1, 6), random.randint(1, 6)
        forward, backward = (random_links(random, *size) for _ in range(2))
        found = join(forward, backward)
        assert found == textbook(forward, backward, *size)
        assert forward & backward <= found <= forward | backward
        seen.add((found == forward & backward, found == forward | backward))
    assert (False, False) in seen, "cases in which something is added and something left out"


# --- text ---


def test_pharaoh_there_and_back():
    random = Random(0)
    for _ in range(50):
        some = random_links(random, 12, 12, 0.1)
        assert from_pharaoh(to_pharaoh(some)) == some
    assert to_pharaoh(links("10-0 2-1 2-0")) == "2-0 2-1 10-0"
    assert to_pharaoh([]) == ""
    assert from_pharaoh(" \n") == frozenset()
    assert from_pharaoh("0p1 1?2") == links("0-1 1-2")
    for wrong in ("1", "1-", "-1", "1-2-3", "a-b", "1–2", "٣-1", "9999999999-0"):
        with pytest.raises(RegardError, match="expected i-j for a sure link"):
            from_pharaoh(wrong)


def test_gold_a_pair_a_line():
    found = read_gold(["0-0 1p1", "", "2?0 2-0"], "gold", [(2, 2), (1, 1), (3, 1)])
    none = frozenset()
    assert found == [Gold(links("0-0"), links("0-0 1-1")), Gold(none, none), Gold(links("2-0"), links("2-0"))]
    assert read_gold(["1-1 2p2"], "gold", [(2, 2)], base=1) == found[:1]
    assert read_gold(["0-2"], "gold", [(3, 1)], turn=True) == [Gold(links("2-0"), links("2-0"))]
    assert read_gold(["0-0", "", " "], "gold", [(1, 1)]) == [Gold(links("0-0"), links("0-0"))]


def test_gold_a_link_a_line():
    lines = ["0001 1 1 S", "1 2 2 P", "", "3 3 1"]
    none = frozenset()
    expected = [Gold(links("0-0"), links("0-0 1-1")), Gold(none, none), Gold(links("2-0"), links("2-0"))]
    assert read_gold(lines, "gold", [(2, 2), (1, 1), (3, 1)]) == expected
    assert read_gold(["1 0 0 S ", "1 1 1 P"], "gold", [(2, 2)], base=0) == expected[:1]
    assert read_gold(["1 1 3"], "gold", [(3, 1)], turn=True) == expected[2:]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["0-0"], "gold: 1 lines; expected 2, one per pair; empty lines for pairs without links"),
        (["0-0", "", "1-1"], "gold: 3 lines; expected 2"),
        (["0-0", "1-1 x"], "gold:2: 'x'; expected i-j"),
        (["", "1-2"], "gold:2: link 1-2 for 2 source and 2 target words; expected words from 0 to the last; "),
        (
            ["2-1", ""],
            "if words count from 1, use --gold-base 1; if the target comes first, add --gold-reversed",
        ),
        (["1 1 1", "1 1"], "gold:2: '1 1'; expected sentence, source word, target word, S or P"),
        (["1 1 1 X"], "gold:1: '1 1 1 X'"),
        (["3 1 1"], "gold:1: sentence 3; expected 1 to 2"),
        (["0 1 1"], "gold:1: sentence 0; expected 1 to 2"),
        (["1 0 1"], "gold:1: link 0 1 for 2 source and 2 target words; expected words from 1 to the last; "),
    ],
)
def test_gold_that_cannot_be_read(lines, said):
    with pytest.raises(RegardError) as error:
        read_gold(lines, "gold", [(2, 2), (2, 2)])
    assert said in str(error.value)


# --- figures ---


def test_scores_by_hand():
    """A = {0-0, 1-1, 2-2, 3-0}, S = {0-0, 1-1, 4-4}, P = S ∪ {2-2}: |A∩S| = 2, |A∩P| = 3, |A| = 4, |S| = 3."""
    gold = Gold(links("0-0 1-1 4-4"), links("0-0 1-1 4-4 2-2"))
    found = scores([links("0-0 1-1 2-2 3-0")], [gold])
    assert found == pytest.approx({"aer": 1 - 5 / 7, "precision": 3 / 4, "recall": 2 / 3, "f1": 12 / 17})


def test_scores_are_of_all_pairs_together():
    """A half that is right (1 of 1) and one that is wrong (0 of 3): not the mean of 0 and 1."""
    gold = [Gold(links("0-0"), links("0-0")), Gold(links("5-5"), links("5-5"))]
    found = scores([links("0-0"), links("1-0 1-1 1-2")], gold)
    assert found == pytest.approx({"aer": 1 - 2 / 6, "precision": 1 / 4, "recall": 1 / 2, "f1": 1 / 3})


def test_scores_against_counting():
    random = Random(3)
    for _ in range(50):
        A, S = (random_links(random, 4, 4) for _ in range(2))
        P = S | random_links(random, 4, 4)
        if not A or not S:
            continue
        cells = list(product(range(4), range(4)))
        both = sum(c in A and c in S for c in cells) + sum(c in A and c in P for c in cells)
        assert scores([A], [Gold(S, P)])["aer"] == pytest.approx(1 - both / sum((c in A) + (c in S) for c in cells))
        assert scores([A], [Gold(A, A | P)])["aer"] == 0


def test_scores_where_nothing_is():
    gold = [Gold(links("0-0"), links("0-0"))]
    assert scores([frozenset()], gold) == {"aer": 1, "precision": 0, "recall": 0, "f1": 0}
    assert scores([links("1-1")], gold) == {"aer": 1, "precision": 0, "recall": 0, "f1": 0}
    with pytest.raises(RegardError, match="without a sure link"):
        scores([links("0-0")], [Gold(frozenset(), links("0-0"))])


def test_off_by_one_by_hand():
    """0-0 is there; 2-1 and 1-2 would be one source word back and on; 5-3 is two off; 4-4 is off by a target word."""
    other = links("0-0 1-1 2-2 3-3 4-5 9-9")
    found = off_by_one([links("0-0 2-1 1-2 5-3 4-4")], [other])
    assert found == pytest.approx({"matched": 1 / 5, "off_by_one": 2 / 5})
    assert off_by_one([links("0-0"), links("1-0")], [links("0-0"), links("0-0")])["off_by_one"] == 0.5
    assert off_by_one([links("1-0")], [links("0-0 1-0 2-0")]) == {"matched": 1, "off_by_one": 0}, "a match is one"
    assert off_by_one([frozenset()], [other]) == {"matched": 0, "off_by_one": 0}


def test_attention_on_linked_words_by_hand():
    """Word 0 is linked to 0, its most looked-at (0.6); word 1 to 0 and 2, of which 2 is not among its two (0.3 + 0.1);
    word 2 to none, so it does not count.
    """
    rows = np.array([[0.6, 0.3, 0.1], [0.3, 0.5, 0.1], [0.0, 0.0, 1.0]])
    assert attended([rows], [links("0-0 0-1 2-1")]) == pytest.approx(
        {"attention_match": 1 / 2, "attention_mass": (0.6 + 0.4) / 2}
    )
    assert attended([rows, rows], [links("0-0"), links("1-1 0-1")]) == pytest.approx(
        {"attention_match": 1, "attention_mass": (0.6 + 0.8) / 2}
    )
    assert attended([rows], [frozenset()]) == {"attention_match": 0, "attention_mass": 0}
