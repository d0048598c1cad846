"""Every limit under every search, against every sequence there is; and what cannot be is said."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_decoders import END, START, Allowance, Hashed, digest_after, memory_of

from regard.errors import RegardError
from regard.find import build, call, find, names
from regard.search import Limits, Rules
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from tiers import tries

inf = math.inf
words = st.lists(st.sampled_from([0, 2, 3]), max_size=3).map(tuple)


def search(how, decoder, seeds, max_length, **more):
    return how(decoder, memory_of(seeds), start=START, end=END, max_length=torch.tensor(max_length), **more)


@st.composite
def allowances(draw):
    allowed = draw(st.none() | st.lists(words, min_size=1, max_size=6).map(tuple))
    beginnings = (
        st.sampled_from([answer[:n] for answer in allowed for n in range(len(answer) + 1)]) if allowed else words
    )
    return Allowance(
        max_length=draw(st.integers(1, 4)),
        min_length=draw(st.integers(0, 3)),
        no_repeat_ngram=draw(st.integers(0, 3)),
        prefix=draw(st.just(()) | beginnings),
        allowed=allowed,
        banned=draw(st.sampled_from([(), (), (2,), (END,)])),
    )


def limits_of(asked):
    return Limits(asked.min_length, asked.no_repeat_ngram, asked.prefix, asked.allowed or ())


def by_hand(decoder, seed, asked):
    """Python's own maximum of what may come, token after token; None where nothing may."""
    digest, tokens, total = digest_after(seed, START), (), 0.0
    while len(tokens) < asked.max_length and END not in tokens:
        chances = {v: p for v, p in enumerate(decoder.python_log_probs(digest)) if asked((*tokens, v)) and p > -inf}
        if not chances:
            return None
        best = max(chances, key=chances.__getitem__)
        tokens, total, digest = (*tokens, best), total + chances[best], digest_after(digest, best)
    return tokens, total


@pytest.mark.sweep
@settings(max_examples=tries(250), deadline=None)
@given(seed=st.integers(0, 10**6), asked=allowances(), holes=st.sampled_from([0, 0, 1]))
def test_against_every_sequence_there_is(seed, asked, holes):
    decoder = Hashed(vocab=4, holes=holes)
    possible = {t: p for t, p in decoder.everything(seed, asked.max_length).items() if asked.whole(t)}
    more = {"limits": limits_of(asked)}
    if not possible:
        with pytest.raises(RegardError):
            search(Beam(beam_size=256, **more), decoder, [seed], [asked.max_length], banned=asked.banned)
        with pytest.raises(RegardError):
            search(Greedy(**more), decoder, [seed], [asked.max_length], banned=asked.banned)
        return
    [found] = search(Beam(256, 0.0, 300, **more), decoder, [seed], [asked.max_length], banned=asked.banned)
    assert {h.tokens for h in found} == set(possible)
    assert [h.log_prob for h in found] == pytest.approx(sorted(possible.values(), reverse=True))

    expected = by_hand(decoder, seed, asked)
    if expected is None:  # it went where nothing can follow; without holes or blocked repeats that cannot be
        assert holes or asked.no_repeat_ngram
        with pytest.raises(RegardError, match="no token can follow"):
            search(Greedy(**more), decoder, [seed], [asked.max_length], banned=asked.banned)
        return
    [[h]] = search(Greedy(**more), decoder, [seed], [asked.max_length], banned=asked.banned)
    assert (h.tokens, h.log_prob) == (expected[0], pytest.approx(expected[1]))


@pytest.mark.sweep
@settings(max_examples=tries(150), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    asked=allowances(),
    max_length=st.integers(4, 9),
    beam_size=st.integers(1, 4),
    n_best=st.integers(1, 3),
)
def test_a_narrow_beam_is_the_one_on_paper(seed, asked, max_length, beam_size, n_best):
    decoder, asked = Hashed(vocab=6, scale=3.0), Allowance(**{**vars(asked), "max_length": max_length})
    expected = decoder.plain_beam(seed, max_length, beam_size, 1.0, n_best, may=asked)
    if not expected:
        with pytest.raises(RegardError):
            search(
                Beam(beam_size, 1.0, n_best, limits=limits_of(asked)),
                decoder,
                [seed],
                [max_length],
                banned=asked.banned,
            )
        return
    beam = Beam(beam_size, 1.0, n_best, limits=limits_of(asked))
    [found] = search(beam, decoder, [seed], [max_length], banned=asked.banned)
    assert [h.tokens for h in found] == [tokens for tokens, _ in expected]
    assert [h.rank_score for h in found] == pytest.approx([score for _, score in expected])


ANSWERS = ((2, 3), (2, 4, 5, 6), (3, 2, 3, 2, 5), (4,), (), (6, 6, 6), (5, 4, 3, 2, 6, 5))
EACH = {"beam": {"beam_size": 4, "n_best": 3}, "sample": {"seed": 5, "count": 3}}


@pytest.mark.thin
@pytest.mark.parametrize("name", names("search"))
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"min_length": 4},
        {"no_repeat_ngram": 1},
        {"no_repeat_ngram": 2},
        {"prefix": (4, 2, 4, 2)},
        {"min_length": 2, "allowed": ANSWERS},
    ],
)
def test_every_search_keeps_every_limit_alone_and_among_others(name, limits):
    decoder, sentences = Hashed(vocab=7, scale=4.0), list(range(24))
    longest = [5 + s % 9 for s in sentences]

    def how():
        return build("search", {"name": name, **EACH.get(name, {}), "limits": limits})

    together = search(how(), decoder, sentences, longest, weights=True, banned=(0,))
    for sentence, most, found in zip(sentences, longest, together, strict=True):
        asked = Allowance(most, banned=(0,), **{"allowed": None, **limits})
        for h in found:
            assert asked.whole(h.tokens)
            assert h.tokens[-1] == END or len(h.tokens) == most
            assert h.log_prob == pytest.approx(log_prob(decoder, sentence, h.tokens))
            assert h.weights[:, 0].tolist() == decoder.digests(sentence, h.tokens)
        if name != "sample":  # whose draws depend on what was drawn before
            assert search(how(), decoder, [sentence], [most], banned=(0,)) == [found]
    assert len({found[0].tokens for found in together}) > 2


def log_prob(decoder, seed, tokens):
    """Of the model itself: what is out of bounds shares nothing out."""
    digests = decoder.digests(seed, tokens)
    return sum(decoder.python_log_probs(d)[v] for d, v in zip(digests, tokens, strict=True))


@pytest.mark.parametrize("name", names("search"))
def test_prefixes_differ_by_sentence(name):
    prefixes = [(), (2,), (3, 3, 3, 3), (4, 2), ()]
    how = build("search", {"name": name, **EACH.get(name, {}), "limits": {"prefix": [5], "no_repeat_ngram": 2}})
    found = search(how, Hashed(vocab=6), [1, 2, 3, 4, 5], [6, 6, 4, 6, 3], prefixes=prefixes)
    for prefix, hypotheses in zip(prefixes, found, strict=True):
        assert all(h.tokens[: len(prefix)] == prefix for h in hypotheses)
    assert found[2][0].tokens == (3, 3, 3, 3)  # as it is, though it repeats itself; and there is room for no end
    if name != "sample":
        assert len(found[2]) == 1
        assert search(how, Hashed(vocab=6), [4], [6], prefixes=[(4, 2)]) == [found[3]]
    assert all(h.tokens[0] == 5 for [h, *_] in search(how, Hashed(vocab=6), [1, 2], [6, 6]))


def test_what_is_allowed_for_one_call():
    decoder, beam = Hashed(vocab=7), Beam(9, 0.0, 9, limits=Limits(allowed=((2, 2),)))
    [found] = search(beam, decoder, [3], [9], allowed=[[4, 5, END], [4], [6]])
    assert {h.tokens for h in found} == {(4, 5, END), (4, END), (6, END)}
    assert [h.tokens for h in search(beam, decoder, [3], [9])[0]] == [(2, 2, END)]


def test_an_allowed_answer_has_its_own_probability():
    """Classification by generation: of three labels each comes with log p of its tokens under the model."""
    decoder, labels = Hashed(vocab=9), ((2, 3), (2, 4), (5,))
    [found] = search(Beam(3, 0.0, 3), decoder, [8], [4], allowed=labels)
    expected = {(*label, END): log_prob(decoder, 8, (*label, END)) for label in labels}
    assert {h.tokens: h.log_prob for h in found} == pytest.approx(expected)


def test_samples_of_what_is_allowed_come_as_often_as_they_should():
    decoder, labels = Hashed(vocab=5, scale=2.0), ((2, 3), (2, 4), (3,))
    [found] = search(Sample(count=8000, seed=1), decoder, [4], [4], allowed=labels)
    first = decoder.python_log_probs(decoder.digests(4, (2, 0))[0])
    second = decoder.python_log_probs(decoder.digests(4, (2, 0))[1])
    share = math.exp(first[2]) / (math.exp(first[2]) + math.exp(first[3]))  # of 2 among 2 and 3
    within = math.exp(second[3]) / (math.exp(second[3]) + math.exp(second[4]))
    for label, expected in zip(labels, (share * within, share * (1 - within), 1 - share), strict=True):
        assert sum(h.tokens == (*label, END) for h in found) / 8000 == pytest.approx(expected, abs=0.02)


def test_least_by_hand():
    """The end comes first at 0.9, were it let; cut where there is no room for so many."""
    p = torch.tensor([0.0, 0.9, 0.06, 0.04]).double()

    class Same(Hashed):
        def step(self, state, token):
            state, look, _ = super().step(state, token)
            return state, look, p.log().expand(*token.shape, 4)

    found = search(Greedy(limits=Limits(min_length=2)), Same(vocab=4), [1, 2], [9, 2])
    assert [h.tokens for [h] in found] == [(2, 2, END), (2, 2)]
    assert [h.log_prob for [h] in found] == pytest.approx([math.log(0.06**2 * 0.9), math.log(0.06**2)])


@pytest.mark.parametrize("how", [Greedy(), Beam(), Sample()])
@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"prefixes": [(2,), (3, 3, 3, 3)]}, "sentence 1 of the batch: a prefix longer than its greatest length"),
        ({"prefixes": [(2, END), ()]}, "sentence 0 of the batch: a token in its prefix that cannot come"),
        ({"prefixes": [(2,), (4,)]}, "sentence 1 of the batch: a token in its prefix that cannot come"),
        ({"prefixes": [(2,), (-1,)]}, "sentence 1 of the batch: a token in its prefix that cannot come"),
        ({"prefixes": [(2,)]}, "1 prefixes; expected 2"),
        ({"prefixes": [(2,), (7,)]}, "token 7 in a prefix or an allowed answer; expected less than 6"),
        ({"allowed": [(2, 9)]}, "token 9 in a prefix or an allowed answer; expected less than 6"),
        ({"allowed": []}, "none of 0 allowed answers can come out"),
        ({"allowed": [(4,), (3, 4)]}, "none of 2 allowed answers can come out"),
        ({"allowed": [(2,), (2, END, 3)]}, "allowed.1. is .2, 1, 3."),
        ({"allowed": [(2, -1)]}, "allowed.0."),
        ({"allowed": [(2, 3, 5), (2, 5, 3, 2)]}, "sentence 0 of the batch: no allowed answer is short enough"),
        ({"allowed": [(2, 3)], "prefixes": [(2,), (3,)]}, "sentence 1 of the batch: no allowed answer begins with"),
        ({"allowed": [(2,), (3, 3, 3)], "prefixes": [(), (3,)]}, "sentence 1 of the batch: no allowed answer is short"),
    ],
)
def test_what_cannot_be_is_said_before_the_first_step(how, given, match):
    decoder = Hashed(vocab=6)
    with pytest.raises(RegardError, match=match):
        search(how, decoder, [1, 2], [3, 3], banned=(4,), **given)
    assert decoder.steps <= 1


def test_options():
    assert isinstance(find("search", "greedy")(), Greedy)
    assert build("search", {"name": "greedy", "limits": {"min_length": 3}}).limits == Limits(min_length=3)
    assert build("search", {"name": "beam", "limits": {"allowed": [[2, 3], [4]]}}).limits.allowed == ((2, 3), (4,))
    assert build("search", "sample").limits == call(Limits, {}) == Limits()
    with pytest.raises(RegardError, match=r"unknown option 'limits.min_lenght'; did you mean 'min_length'"):
        build("search", {"name": "beam", "limits": {"min_lenght": 3}})
    for wrong in ("answers.txt", 7, [2, 3], [[2, "a"]], [[2.0]]):
        with pytest.raises(RegardError, match=r"limits.allowed=.*; expected answers, each a list of tokens"):
            build("search", {"name": "beam", "limits": {"allowed": wrong}})
    with pytest.raises(RegardError, match="prefix: got 'a'"):
        build("search", {"name": "beam", "limits": {"prefix": ["a"]}})
    for name in ("min_length", "no_repeat_ngram"):
        with pytest.raises(RegardError, match=rf"limits.{name}: got -1; expected"):
            Limits(**{name: -1})


def test_the_rules_cost_nothing_where_none_is_asked_for():
    past = Rules(Limits(), start=START, end=END, max_length=torch.tensor([3, 4])).begin(5)
    assert past.said is None
    assert past.node is None
