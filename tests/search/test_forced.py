"""A given sequence: its probability by hand, as a beam found it, and under a real decoder."""

import math
from functools import partial

import pytest
import torch
from small_decoders import END, START, Hashed, Prefix, memory_of

from regard.attend.attention import make
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.predict.generate.recurrent import Recurrent
from regard.search import forced
from regard.search.beam import Beam
from regard.types import Look, Memory


class Unrolled(Hashed):
    unroll = Decoder.unroll  # the loop of steps


def test_by_hand():
    """p = 0.3 · 0.9 for b and the end; the end alone has 0.1, and nothing at all is sure."""

    class Table:
        unroll = Decoder.unroll

        def start(self, memory):
            return Prefix(memory, torch.zeros(len(memory.keys), 1, dtype=torch.long))

        def step(self, state, token):
            p = torch.tensor([[0, 0.1, 0.6, 0.3], [0, 1, 0, 0], [0, 0.3, 0.35, 0.35], [0, 0.9, 0.1, 0.0]]).double()
            return state, Look(p[token][..., :1], compute_weights=lambda: p[token]), p[token].log()

    found = forced(Table(), memory_of([1, 2, 3, 4]), [(3, END), (END,), (), (0, END)], start=START)
    assert [h.tokens for h in found] == [(3, END), (END,), (), (0, END)]
    assert [h.log_prob for h in found] == pytest.approx([math.log(0.27), math.log(0.1), 0.0, -math.inf])
    assert [h.rank_score for h in found] == [h.log_prob for h in found]
    assert found[0].each == pytest.approx((math.log(0.3), math.log(0.9)))
    assert [len(h.each) for h in found] == [2, 1, 0, 2]
    assert found[0].weights.flatten().tolist() == pytest.approx([0, 0.1, 0.6, 0.3, 0, 0.9, 0.1, 0])
    assert found[2].weights.shape == (0, 4)
    [mean] = forced(Table(), memory_of([1]), [[3, END]], start=START, length=1.0)
    assert mean.rank_score == pytest.approx(math.log(0.27) / 2)
    [nothing] = forced(Table(), memory_of([1]), [[]], start=START)
    assert (nothing.log_prob, nothing.weights.shape) == (0.0, (0, 4))


@pytest.mark.parametrize("heads", [0, 2])
def test_what_a_beam_found_scores_the_same(heads):
    decoder, sentences = Unrolled(vocab=7, scale=2.0, heads=heads), [3, 4, 5, 6]
    beam = Beam(4, 0.7, 2)
    longest = torch.tensor([6, 9, 1, 4])
    found = beam(decoder, memory_of(sentences), start=START, end=END, max_length=longest, weights=True)
    for rank in (0, 1):
        targets = [list(hypotheses[rank].tokens) for hypotheses in found]
        given = forced(decoder, memory_of(sentences), targets, start=START, length=0.7)
        for hypotheses, one in zip(found, given, strict=True):
            assert one.tokens == hypotheses[rank].tokens
            assert one.rank_score == pytest.approx(hypotheses[rank].rank_score)
            assert one.log_prob == pytest.approx(hypotheses[rank].log_prob)
            assert torch.equal(one.weights, hypotheses[rank].weights)


@pytest.mark.parametrize("feed", [True, False])
def test_a_real_decoder_alone_and_among_others(feed):
    attention = partial(make, score="additive")
    decoder = Recurrent(11, 6, 6, attention, embed=5, hidden=7, place="after", feed=feed).double().eval()
    keys = torch.randn(3, 4, 6, dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True] * 3 + [False]])
    memory = Memory(keys, keys, mask, torch.randn(3, 6, dtype=torch.float64))
    found = Beam(3, 1.0, 1)(decoder, memory, start=2, end=3, max_length=torch.tensor([5, 9, 2]), weights=True)
    targets = [h.tokens for [h] in found]
    together = forced(decoder, memory, targets, start=2, length=1.0)
    for row, ([h], one) in enumerate(zip(found, together, strict=True)):
        assert one.rank_score == pytest.approx(h.rank_score)
        assert torch.allclose(one.weights, h.weights)
        [alone] = forced(decoder, memory.select(torch.tensor([row])), [targets[row]], start=2)
        assert alone.log_prob == pytest.approx(one.log_prob)
        assert torch.allclose(alone.weights, one.weights)
        assert torch.allclose(one.weights.sum(-1), torch.ones(len(targets[row])).double())
        assert not one.weights[:, ~mask[row]].any()


def test_weights_only_where_asked_for():
    class Blind(Unrolled):
        def step(self, state, token):
            state, look, logits = super().step(state, token)
            return state, Look(look.context, compute_weights=lambda: pytest.fail("asked for weights")), logits

    [h] = forced(Blind(), memory_of([1]), [[2, END]], start=START, weights=False)
    assert h.weights is None


def test_one_target_a_sentence():
    assert forced(Unrolled(), memory_of([]), [], start=START) == []
    with pytest.raises(RegardError, match="1 targets; expected 2, one per sentence"):
        forced(Unrolled(), memory_of([1, 2]), [[2]], start=START)
