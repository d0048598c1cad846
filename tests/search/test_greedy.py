"""Greedy search: by hand, and as a beam of width 1."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_decoders import END, START, Hashed, digest_after, memory_of, same

from regard.errors import RegardError
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from tiers import tries


def search(how, decoder, seeds, max_length, **more):
    return how(decoder, memory_of(seeds), start=START, end=END, max_length=torch.tensor(max_length), **more)


def by_hand(decoder, seed, max_length, banned=()):
    """Python's own maximum, token after token."""
    digest, tokens, total = digest_after(seed, START), (), 0.0
    while len(tokens) < max_length and END not in tokens:
        log_probs = decoder.python_log_probs(digest, banned)
        best = max(range(decoder.vocab), key=log_probs.__getitem__)
        tokens, total, digest = (*tokens, best), total + log_probs[best], digest_after(digest, best)
    return tokens, total


@settings(max_examples=tries(60), deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(2, 9))
def test_takes_the_likeliest(seed, max_length, vocab):
    decoder, sentences = Hashed(vocab), [seed + i for i in range(len(max_length))]
    found = search(Greedy(), decoder, sentences, max_length, weights=True)
    same_by_beam = search(Beam(beam_size=1, length_penalty=0.0), decoder, sentences, max_length)
    for sentence, most, [h], [b] in zip(sentences, max_length, found, same_by_beam, strict=True):
        tokens, total = by_hand(decoder, sentence, most)
        assert h.tokens == tokens
        assert h.rank_score == h.log_prob == pytest.approx(total)
        assert same(h, b)
        expected = [[d, sentence] for d in decoder.digests(sentence, tokens)]
        assert h.weights.tolist() == expected


def test_banned_tokens_never_appear_and_nothing_is_shared_out_anew():
    decoder = Hashed(vocab=5)
    for seed in range(20):
        [[h]] = search(Greedy(), decoder, [seed], [8], banned=(2, 4))
        tokens, total = by_hand(decoder, seed, 8, banned=(2, 4))
        assert not {2, 4} & set(h.tokens)
        assert (h.tokens, h.log_prob) == (tokens, pytest.approx(total))


def test_alone_or_among_64():
    decoder, sentences = Hashed(vocab=13), list(range(64))
    longest = [1 + s % 20 for s in sentences]
    together = search(Greedy(), decoder, sentences, longest)
    for sentence, most, found in zip(sentences, longest, together, strict=True):
        assert search(Greedy(), decoder, [sentence], [most]) == [found]


def test_stops_when_all_have_ended():
    decoder = Hashed(vocab=5)
    found = search(Greedy(), decoder, [1, 2, 3], [500, 500, 500])
    assert decoder.steps == max(len(h.tokens) for [h] in found) < 500


def test_a_dead_end_is_said():
    with pytest.raises(RegardError, match="sentence 0 of the batch: no token can follow"):
        search(Greedy(), Hashed(vocab=3), [1], [4], banned=(0, 1, 2))


def test_nobody_and_no_room():
    assert Greedy()(Hashed(), memory_of([]), start=0, end=1, max_length=torch.zeros(0, dtype=torch.long)) == []
    with pytest.raises(RegardError, match="max_length 0"):
        search(Greedy(), Hashed(), [1], [0])
