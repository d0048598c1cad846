"""The loop under greedy search and sampling, with choices made by the test."""

import pytest
import torch
from small_decoders import START, Hashed, digest_after, memory_of

from regard.search import Limits, Rules
from regard.search._walk import walk


def test_each_hypothesis_goes_its_own_way():
    """Two a sentence: one always takes token 2, the other ends at its third step; the likelier comes first."""
    calls = []

    def choose(log_probs):
        calls.append(log_probs)
        token = torch.full(log_probs.shape[:2], 2)
        if len(calls) == 3:
            token[:, 1] = 1
        return token

    decoder, sentences = Hashed(vocab=4), [7, 8]
    rules = Rules(Limits(), start=START, end=1, max_length=torch.tensor([5, 2]))
    found = walk(decoder, memory_of(sentences), choose, rules, count=2, weights=True)
    assert len(calls) == 5
    assert {h.tokens for h in found[0]} == {(2, 2, 2, 2, 2), (2, 2, 1)}
    assert {h.tokens for h in found[1]} == {(2, 2)}
    for sentence, hypotheses in zip(sentences, found, strict=True):
        assert hypotheses[0].rank_score >= hypotheses[1].rank_score
        for h in hypotheses:
            digest, total = digest_after(sentence, START), 0.0
            for token in h.tokens:
                total += decoder.python_log_probs(digest)[token]
                digest = digest_after(digest, token)
            assert h.log_prob == h.rank_score == pytest.approx(total)
            assert h.weights[:, 0].tolist() == decoder.digests(sentence, h.tokens)
