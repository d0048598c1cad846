"""The steps of a search: those of a beam on paper, the way back to the first, the same alone and in a batch."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_decoders import END, START, Hashed, digest_after, memory_of

from regard.errors import RegardError
from regard.regions import Token
from regard.search import Limits, Search, Trace
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from tiers import tries

seeds = st.integers(0, 10**6)


def watched(how, decoder, seeds, max_length, **more):
    """What was found, and for each sentence its steps with tokens as whole numbers."""
    trace = Trace()
    found = how(
        decoder, memory_of(seeds), start=START, end=END, max_length=torch.tensor(max_length), trace=trace, **more
    )
    steps = trace.steps(lambda ids: [Token(str(number)) for number in ids])
    return found, [[[(tuple(map(int, h.tokens)), h) for h in step] for step in one] for one in steps]


def on_paper(decoder, seed, max_length, beam_size, groups=1, diversity=0.0):
    """All steps of a beam that never stops early: {(tokens, ended): how many groups}, and log p of the tokens."""
    beams = [[(0.0, (), digest_after(seed, START))] for _ in range(groups)]
    each = beam_size // groups
    for t in range(1, max_length + 1):
        step, logs, taken = Counter(), {}, Counter()
        for group in range(groups):
            candidates = [
                (total + log_prob, (*tokens, v), digest_after(digest, v))
                for total, tokens, digest in beams[group]
                for v, log_prob in enumerate(decoder.python_log_probs(digest))
                if log_prob > -math.inf
            ]
            candidates.sort(key=lambda c: -(c[0] - diversity * taken[c[1][-1]]))
            candidates = candidates[: 2 * each]
            taken.update(tokens[-1] for _, tokens, _ in candidates[:each])
            beams[group] = [c for c in candidates if c[1][-1] != END][:each]
            ended = [c for i, c in enumerate(candidates) if t == max_length or (c[1][-1] == END and i < each)]
            going = [] if t == max_length else beams[group]
            step.update([(c[1], True) for c in ended] + [(c[1], False) for c in going])
            logs |= {c[1]: c[0] for c in candidates}
        yield step, logs


def back(steps, t, place):
    """From one hypothesis to the first step: all of them, the first step's first."""
    path = []
    for step in reversed(steps[: t + 1]):
        path.insert(0, step[place])
        place = step[place][1].parent
    assert place == -1
    return path


def check(found, steps, score):
    """What must hold of any search's steps."""
    for step in steps:
        assert [h.log_prob for _, h in step] == sorted((h.log_prob for _, h in step), reverse=True)
    for t, step in enumerate(steps):
        for place, (tokens, h) in enumerate(step):
            path = back(steps, t, place)
            assert [one for one, _ in path] == [tokens[: i + 1] for i in range(t + 1)]
            assert all(a.log_prob >= b.log_prob for (_, a), (_, b) in pairwise(path))
            assert not any(one.ended for _, one in path[:-1])
            assert h.ended or END not in tokens
    for one in found:  # each answer ended somewhere, and the first has the best score of all that did
        assert (one.tokens, True, pytest.approx(one.log_prob)) in [
            (tokens, h.ended, h.log_prob) for tokens, h in steps[len(one.tokens) - 1]
        ]
    best = max(score(tokens, h.log_prob) for step in steps for tokens, h in step if h.ended)
    assert found[0].rank_score == pytest.approx(best)


@settings(max_examples=tries(80), deadline=None)
@given(
    seed=seeds,
    vocab=st.integers(2, 6),
    scale=st.sampled_from([1.0, 6.0, 20.0]),
    holes=st.sampled_from([0, 0, 1]),
    max_length=st.lists(st.integers(1, 8), min_size=1, max_size=3),
    each=st.integers(1, 3),
    groups=st.integers(1, 3),
    n_best=st.integers(1, 3),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0]),
    diversity=st.sampled_from([0.0, 0.7]),
)
def test_a_beam_has_the_steps_of_one_on_paper(
    seed, vocab, scale, holes, max_length, each, groups, n_best, length_penalty, diversity
):
    decoder, width = Hashed(vocab, scale, holes=holes), each * groups
    how = Beam(width, length_penalty, n_best, groups, diversity)
    sentences = [seed + i for i in range(len(max_length))]
    try:
        found, all_steps = watched(how, decoder, sentences, max_length)
    except RegardError:  # holes may leave a narrow beam nothing to go on with, watched or not
        with pytest.raises(RegardError, match="no token can follow"):
            how(decoder, memory_of(sentences), start=START, end=END, max_length=torch.tensor(max_length))
        return
    plain = how(decoder, memory_of(sentences), start=START, end=END, max_length=torch.tensor(max_length))
    assert found == plain
    for sentence, most, best, steps in zip(sentences, max_length, found, all_steps, strict=True):
        check(best, steps, lambda tokens, total: total / len(tokens) ** length_penalty)
        paper = on_paper(decoder, sentence, most, width, groups, diversity)
        for t, (step, (counted, logs)) in enumerate(zip(steps, paper, strict=False)):
            here = Counter((tokens, h.ended) for tokens, h in step)
            # A group adds nothing once its own list is settled.
            assert here == counted if groups == 1 or t == 0 else here <= counted
            assert [h.log_prob for _, h in step] == pytest.approx([logs[tokens] for tokens, _ in step])
        assert watched(how, decoder, [sentence], [most])[1] == [steps]


def test_by_hand():
    """p(a) 0.6, p(b) 0.3, end 0.1: a width of 2 keeps a and b; then b ends with 0.27, a goes on to aa and ab."""

    class Table:
        def start(self, memory):
            return Hashed().start(memory)

        def step(self, state, token):
            _, look, _ = Hashed().step(state, token)
            p = torch.tensor([[0, 0.1, 0.6, 0.3], [0, 1, 0, 0], [0, 0.2, 0.4001, 0.3999], [0, 0.9, 0.1, 0.0]]).double()
            return state, look, p[token].log()

    [[best]], [steps] = watched(Beam(2, 0.0), Table(), [0], [9])
    assert best.tokens == (3, END)
    rows = [[(tokens, h.parent, h.ended, round(math.exp(h.log_prob), 4)) for tokens, h in step] for step in steps]
    assert rows == [
        [((2,), -1, False, 0.6), ((3,), -1, False, 0.3)],
        [((3, END), 1, True, 0.27), ((2, 2), 0, False, 0.2401), ((2, 3), 0, False, 0.2399)],
    ]


@settings(max_examples=tries(40), deadline=None)
@given(seed=seeds, max_length=st.lists(st.integers(1, 8), min_size=1, max_size=4))
def test_greedy_is_the_first_of_a_beam_of_one(seed, max_length):
    decoder, sentences = Hashed(vocab=5), [seed + i for i in range(len(max_length))]
    found, greedy = watched(Greedy(), decoder, sentences, max_length)
    _, narrow = watched(Beam(1, 0.0), decoder, sentences, max_length)
    for [best], most, steps, beam in zip(found, max_length, greedy, narrow, strict=True):
        check([best], steps, lambda tokens, total: total)
        assert all(len(step) == 1 for step in steps)
        assert len(steps) == len(best.tokens) == len(beam) <= most
        for [(tokens, h)], [(others, other), *_] in zip(steps, beam, strict=True):
            assert (tokens, h.parent, h.ended) == (others, other.parent, other.ended)
            assert h.log_prob == pytest.approx(other.log_prob)


def test_samples_go_their_own_ways():
    decoder = Hashed(vocab=4, scale=1.0)
    how = Sample(count=5, seed=3)
    found, all_steps = watched(how, decoder, [1, 2, 3], [9, 2, 5])
    again = Sample(count=5, seed=3)(
        decoder, memory_of([1, 2, 3]), start=START, end=END, max_length=torch.tensor([9, 2, 5])
    )
    assert found == again
    for best, steps in zip(found, all_steps, strict=True):
        check(best, steps, lambda tokens, total: total)
        ended = Counter(tokens for step in steps for tokens, h in step if h.ended)
        assert ended == Counter(h.tokens for h in best)


def test_limits_are_seen():
    _, [steps] = watched(Beam(3, limits=Limits(min_length=2, prefix=(2,))), Hashed(vocab=5), [4], [6])
    assert [tokens for tokens, _ in steps[0]] == [(2,)]
    assert all(END not in tokens for step in steps[:2] for tokens, _ in step)


def test_nothing_is_told_where_nobody_watches(monkeypatch):
    monkeypatch.setattr(Trace, "add", lambda *_: pytest.fail("told"))
    for how in (Greedy(), Beam(3, groups=3), Sample(count=2)):
        how(Hashed(), memory_of([1, 2]), start=START, end=END, max_length=torch.tensor([3, 5]))


def test_a_search_of_ones_own_need_not_know():
    class Own(Search):
        def find(self, decoder, memory, rules, weights):
            return [[]]

    assert Own()(Hashed(), memory_of([1]), start=START, end=END, max_length=torch.tensor([3])) == [[]]
