"""Sampling: the shares that come out, what may not come out, and the same again with a seed."""

import math

import pytest
import torch
from small_decoders import END, START, Hashed, digest_after, memory_of

from regard.errors import RegardError
from regard.search.greedy import Greedy
from regard.search.sample import Sample


def search(how, decoder, seeds, max_length, **more):
    return how(decoder, memory_of(seeds), start=START, end=END, max_length=torch.tensor(max_length), **more)


def shares(sample: Sample, p: list[float], draws: int = 20_000) -> list[float]:
    log_probs = torch.tensor(p, dtype=torch.float64).log().expand(1, draws, len(p))
    drawn = sample.draw(log_probs, torch.Generator().manual_seed(3))
    return (drawn.flatten().bincount(minlength=len(p)) / draws).tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.1, 0.4, 0.2, 0.3]),
        ({"temperature": 0.5}, [1 / 30, 16 / 30, 4 / 30, 9 / 30]),  # squares, over their sum
        ({"temperature": 2.0}, [math.sqrt(p) / 1.943577 for p in (0.1, 0.4, 0.2, 0.3)]),
        ({"top_k": 1}, [0, 1, 0, 0]),
        ({"top_k": 3}, [0, 4 / 9, 2 / 9, 3 / 9]),
        ({"top_k": 9}, [0.1, 0.4, 0.2, 0.3]),
        ({"top_p": 0.65}, [0, 4 / 7, 0, 3 / 7]),  # 0.4 is too little, 0.4 + 0.3 is enough
        ({"top_p": 0.71}, [0, 4 / 9, 2 / 9, 3 / 9]),
        ({"top_p": 0.01}, [0, 1, 0, 0]),
        ({"top_k": 2, "top_p": 0.5}, [0, 1, 0, 0]),  # of the two that are left, 4/7 is enough
        ({"temperature": 0.5, "top_p": 0.8}, [0, 16 / 25, 0, 9 / 25]),  # 16/30 + 9/30 is enough
    ],
)
def test_shares_by_hand(options, expected):
    found = shares(Sample(**options), [0.1, 0.4, 0.2, 0.3])
    assert found == pytest.approx(expected, abs=0.015)
    assert [p == 0 for p in found] == [p == 0 for p in expected]


def test_ties_are_cut_to_k():
    assert sum(p > 0 for p in shares(Sample(top_k=2), [0.25] * 4)) == 2


def test_what_is_impossible_is_never_drawn():
    assert shares(Sample(temperature=50.0), [0.0, 1e-6, 1 - 1e-6, 0.0])[::3] == [0, 0]


@pytest.mark.parametrize("options", [{}, {"temperature": 3.0, "top_k": 4}, {"top_p": 0.7}])
def test_the_same_again_and_log_prob_is_the_models_own(options):
    decoder, sentences = Hashed(vocab=7, scale=3.0), [5, 6, 7]
    sample = Sample(**options, count=4, seed=11)
    found = search(sample, decoder, sentences, [9, 3, 6], weights=True, banned=(4,))
    assert search(Sample(**options, count=4, seed=11), decoder, sentences, [9, 3, 6], banned=(4,)) == found
    assert search(sample, decoder, sentences, [9, 3, 6], banned=(4,)) != found  # the next batch draws anew
    assert search(Sample(**options, count=4, seed=12), decoder, sentences, [9, 3, 6], banned=(4,)) != found
    for sentence, most, hypotheses in zip(sentences, [9, 3, 6], found, strict=True):
        assert len(hypotheses) == 4
        assert [h.rank_score for h in hypotheses] == sorted((h.rank_score for h in hypotheses), reverse=True)
        for h in hypotheses:
            digest, total = digest_after(sentence, START), 0.0
            for token in h.tokens:
                total += decoder.python_log_probs(digest)[token]
                digest = digest_after(digest, token)
            assert h.rank_score == h.log_prob == pytest.approx(total)
            assert 4 not in h.tokens
            assert h.tokens[-1] == END or len(h.tokens) == most
            assert h.weights[:, 0].tolist() == decoder.digests(sentence, h.tokens)


def test_whole_sequences_come_as_often_as_they_should():
    decoder = Hashed(vocab=3, scale=2.0)
    true = decoder.everything(4, 3)
    [found] = search(Sample(count=8000, seed=1), decoder, [4], [3])
    for tokens, log_prob in true.items():
        assert sum(h.tokens == tokens for h in found) / 8000 == pytest.approx(math.exp(log_prob), abs=0.02)


def test_without_a_seed_it_follows_torchs_own():
    decoder = Hashed(vocab=9, scale=1.0)
    torch.manual_seed(5)
    first, second = (search(Sample(), decoder, [1, 2], [20, 20]) for _ in range(2))
    torch.manual_seed(5)
    assert search(Sample(), decoder, [1, 2], [20, 20]) == first != second


def test_top_1_is_greedy():
    decoder = Hashed(vocab=9)
    assert search(Sample(top_k=1), decoder, [1, 2], [9, 9]) == search(Greedy(), decoder, [1, 2], [9, 9])


@pytest.mark.parametrize(
    "options",
    [{"temperature": 0.0}, {"temperature": math.nan}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.1}, {"count": 0}],
)
def test_bad_options(options):
    with pytest.raises(RegardError, match=next(iter(options))):
        Sample(**options)
