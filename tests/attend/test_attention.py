"""Attention: the answer, and everything else only when asked for."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend import attention as module
from regard.attend.attention import Attention, make
from regard.attend.mask import band, causal, direction, padding
from regard.attend.normalizer.argmax import Argmax
from regard.attend.normalizer.softmax import Softmax
from regard.attend.score.additive import Additive
from regard.attend.score.dot import Dot
from regard.errors import RegardError
from regard.kernels.choose import EXACT
from regard.types import Memory

fused = ["dot", "scaled_dot", "bilinear", "cosine"]


def readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on every call takes the reference path."""
    monkeypatch.setattr(module, "choose", lambda *_, **__: EXACT)


def counted(attention: Attention, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one whenever scores are worked out."""
    calls: list[int] = []
    inner = attention.score.scores

    def scores(*given: object) -> Tensor:
        calls.append(1)
        return inner(*given)

    monkeypatch.setattr(attention.score, "scores", scores)
    return calls


def test_a_number_by_hand() -> None:
    attention = Attention(Dot(query=2, key=2))
    keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    values = torch.tensor([[[8.0], [16.0], [1000.0]]])
    memory = attention.prepare(keys, values, torch.tensor([[True, True, False]]))
    look = attention(torch.tensor([[[0.0, math.log(3)]]]), memory)
    # scores (0, log 3), the third hidden: weights (1/4, 3/4, 0), answer 8/4 + 3·16/4 = 14
    assert_close(look.weights, torch.tensor([[[0.25, 0.75, 0.0]]]))
    assert_close(look.context, torch.tensor([[[14.0]]]))
    assert look.state is None
    assert look.log_prob is None
    assert look.entropy is None


def test_values_default_to_the_keys_before_they_are_prepared() -> None:
    attention = Attention(Additive(query=3, key=4, hidden=5))
    keys, query = torch.randn(2, 6, 4), torch.randn(2, 1, 3)
    assert torch.equal(
        attention(query, attention.prepare(keys)).context, attention(query, attention.prepare(keys, keys)).context
    )


def test_softmax_where_nothing_is_said() -> None:
    assert isinstance(Attention(Dot(query=2, key=2)).normalizer, Softmax)


@pytest.mark.parametrize("heads", [None, 2])
def test_the_fused_path_never_makes_scores_until_weights_are_asked_for(
    heads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = make(4, 4, 4, score="scaled_dot", heads=heads)
    calls = counted(attention, monkeypatch)
    look = attention(torch.randn(2, 3, 4), attention.prepare(torch.randn(2, 5, 4)))
    assert calls == []
    answer = look.context.clone()
    first = look.weights
    assert len(calls) == 1
    assert look.weights is first  # worked out once
    assert len(calls) == 1
    assert torch.equal(look.context, answer)


def test_the_readable_path_makes_scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = make(4, 4, 4, score="additive", normalizer="sample").train()
    calls = counted(attention, monkeypatch)
    look = attention(torch.randn(2, 3, 4), attention.prepare(torch.randn(2, 5, 4)))
    assert len(calls) == 1
    # The weights are those of the choice that was made, not of another draw.
    values = torch.eye(5).expand(2, 5, 5)
    again = Memory(attention.prepare(torch.randn(2, 5, 4)).keys, values)
    drawn = attention(torch.randn(2, 3, 4), again)
    assert torch.equal(drawn.weights, drawn.context)
    assert look.weights.shape == (2, 3, 5)
    assert len(calls) == 2


def test_keys_are_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = make(4, 4, 4, score="additive")
    memory = attention.prepare(torch.randn(2, 5, 4))
    monkeypatch.setattr(attention.score, "prepare", lambda _: pytest.fail("prepared again"))
    attention(torch.randn(2, 3, 4), memory)


masks: dict[str, Callable[[], tuple[Tensor | None, Tensor | None]]] = {
    "none": lambda: (None, None),
    "padding": lambda: (padding(torch.tensor([5, 2, 4]), 5), None),
    "hidden row": lambda: (padding(torch.tensor([5, 0, 1]), 5), None),
    "causal": lambda: (None, causal(5, 5)[None]),
    "forward": lambda: (padding(torch.tensor([5, 2, 4]), 5), direction(5, "forward")[None]),
    "backward": lambda: (padding(torch.tensor([5, 2, 4]), 5), direction(5, "backward")[None]),
    "not self": lambda: (padding(torch.tensor([5, 1, 4]), 5), direction(5, "not_self")[None]),
    "band": lambda: (padding(torch.tensor([5, 2, 4]), 5), band(5, 5, 1)[None]),
    "by query": lambda: (padding(torch.tensor([5, 2, 4]), 5), torch.rand(3, 5, 5) < 0.4),
    "all queries alike": lambda: (None, torch.rand(3, 1, 5) < 0.4),
}


@pytest.mark.thin
@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("name", masks)
@pytest.mark.parametrize("score", fused)
def test_fused_and_readable_agree(score: str, name: str, heads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    attention = make(4, 4, 6, score=score, heads=heads)
    q, k, v = (torch.randn(3, 5, size, requires_grad=True) for size in (4, 4, 6))
    kept, given = masks[name]()
    wanted = [q, k, v, *attention.parameters()]
    fast = attention(q, attention.prepare(k, v, kept), mask=given)
    upstream = torch.randn_like(fast.context)
    fast_slopes = torch.autograd.grad(fast.context, wanted, upstream)
    readable(monkeypatch)
    slow = attention(q, attention.prepare(k, v, kept), mask=given)
    slow_slopes = torch.autograd.grad(slow.context, wanted, upstream)
    assert_close(fast.context, slow.context, atol=1e-5, rtol=0)
    assert torch.equal(fast.weights, slow.weights)
    for one, other in zip(fast_slopes, slow_slopes, strict=True):
        assert_close(one, other, atol=2e-5, rtol=1e-5)
    # And what was hidden has no weight, in the memory or for one query.
    seen = torch.ones(3, 5, 5, dtype=torch.bool)
    seen = seen if kept is None else seen & kept[:, None]
    seen = seen if given is None else seen & given
    seen = seen if heads is None else seen[:, None].expand(3, 2, 5, 5)
    assert torch.equal(fast.weights > 0, seen)


def test_both_masks_hide() -> None:
    attention = Attention(Dot(query=2, key=2))
    memory = attention.prepare(torch.randn(1, 4, 2), mask=torch.tensor([[True, True, True, False]]))
    look = attention(torch.zeros(1, 2, 2), memory, mask=torch.tensor([[[True, True, False, True], [True] * 4]]))
    # All scores are 0: what is visible shares the weight evenly.
    assert_close(look.weights, torch.tensor([[[1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0]]]))


def test_looks_of_single_steps_are_the_look_of_all() -> None:
    attention = make(4, 4, 3, score="additive", heads=None)
    memory, query = attention.prepare(torch.randn(2, 5, 4), torch.randn(2, 5, 3)), torch.randn(2, 3, 4)
    together = attention(query, memory)
    for j in range(3):
        one = attention(query[:, j : j + 1], memory)
        assert_close(one.context, together.context[:, j : j + 1])
        assert_close(one.weights, together.weights[:, j : j + 1])


def test_selected_sentences_give_their_own_answers() -> None:
    attention = make(4, 4, 3, score="bilinear", heads=2)
    memory, query = attention.prepare(torch.randn(3, 5, 4), torch.randn(3, 5, 3)), torch.randn(3, 2, 4)
    rows = torch.tensor([2, 0, 2])
    assert_close(attention(query[rows], memory.select(rows)).context, attention(query, memory).context[rows])


def test_it_works_as_self_attention_with_a_cache() -> None:
    """One query at a time against a growing memory is causal attention over the whole."""
    attention = make(4, 4, 4, score="scaled_dot", heads=2)
    x = torch.randn(2, 6, 4)
    whole = attention(x, attention.prepare(x), mask=causal(6, 6)[None]).context
    for t in range(6):
        so_far = attention.prepare(x[:, : t + 1])
        last = attention(x[:, t : t + 1], so_far, mask=causal(1, t + 1)[None]).context
        assert_close(last, whole[:, t : t + 1], atol=1e-6, rtol=1e-5)


def test_make_gives_each_part_its_size_and_its_options() -> None:
    plain = make(3, 4, 5, score={"name": "additive", "hidden": 6}, normalizer={"name": "entmax", "alpha": 2.0})
    assert plain.score.W_q.weight.shape == (6, 3)
    assert plain.score.W_k.weight.shape == (6, 4)
    assert plain.normalizer.alpha == 2.0
    assert plain.heads is None
    assert not plain.stateful
    many = make(3, 4, 5, score="scaled_dot", normalizer="argmax", heads=2, size=12)
    assert many.score.hidden == 6
    assert many.score.scale == pytest.approx(6**-0.5)
    assert isinstance(many.normalizer, Argmax)
    assert many(torch.randn(2, 1, 3), many.prepare(torch.randn(2, 7, 4), torch.randn(2, 7, 5))).context.shape == (
        2,
        1,
        5,
    )
    assert isinstance(make(3, 4, 5).score, Additive)  # where nothing is said
    assert isinstance(make(3, 4, 5).normalizer, Softmax)


def test_make_names_what_it_does_not_know() -> None:
    with pytest.raises(RegardError, match="did you mean 'additive'"):
        make(4, 4, 4, score="aditive")
    with pytest.raises(RegardError, match="did you mean 'softmax'"):
        make(4, 4, 4, normalizer="softmaks")
    with pytest.raises(RegardError, match="'hiden'; did you mean 'hidden'"):
        make(4, 4, 4, score={"name": "additive", "hiden": 3})
    with pytest.raises(RegardError, match="3 heads with size 4"):
        make(4, 4, 4, heads=3)
