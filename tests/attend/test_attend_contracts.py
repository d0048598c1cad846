"""What every score, normalizer and bias promises, alone and together, under one head and under many.

The parts are found by name, so a new file is held to all of this the day it arrives.
"""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from regard import find
from regard.attend.attention import Attention, make
from regard.types import Look

scores, weighings, biases = (find.names(f"attend.{kind}") for kind in ("score", "normalizer", "bias"))
# Forward and backward are of two functions, on purpose.
not_its_own_gradient = {"straight_through"}
BATCH, QUERIES, KEYS, SIZE, VALUE = 3, 2, 5, 4, 3

every_score = pytest.mark.parametrize("score", scores)
every_weighing = pytest.mark.parametrize("normalizer", weighings)
every_bias = pytest.mark.parametrize("bias", biases)
one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])


def small(folder: str, name: str) -> dict[str, Any]:
    """The part with its options as they are, but narrow."""
    options = find.settable(find.find(folder, name))
    return {"name": name, **({"hidden": 5} if "hidden" in options else {})}


def built(score: str, normalizer: str, heads: int | None, bias: str | None = None) -> Attention:
    parts = () if bias is None else (small("attend.bias", bias),)
    return make(
        SIZE, SIZE, VALUE, score=small("attend.score", score), normalizer=normalizer, bias=parts, heads=heads
    ).eval()


@dataclass
class Given:
    """Queries, keys and values; None for the query of a score that has its own."""

    query: Tensor | None
    keys: Tensor
    values: Tensor
    mask: Tensor

    def leaves(self) -> list[Tensor]:
        return [x for x in (self.query, self.keys, self.values) if x is not None]

    def rows(self, *rows: int) -> "Given":
        query = None if self.query is None else self.query[list(rows)]
        return Given(query, self.keys[list(rows)], self.values[list(rows)], self.mask[list(rows)])


def given(score: str, dtype: torch.dtype = torch.float32, grad: bool = False) -> Given:
    """Three sentences of 5, 3 and 1 keys."""
    query = torch.randn(BATCH, QUERIES, SIZE, dtype=dtype, requires_grad=grad)
    keys = torch.randn(BATCH, KEYS, SIZE, dtype=dtype, requires_grad=grad)
    values = torch.randn(BATCH, KEYS, VALUE, dtype=dtype, requires_grad=grad)
    mask = torch.arange(KEYS) < torch.tensor([5, 3, 1])[:, None]
    return Given(query if asks(score) else None, keys, values, mask)


def asks(score: str) -> bool:
    """Whether a score takes a query from outside."""
    return "query" in inspect.signature(find.find("attend.score", score)).parameters


def look_at(attention: Attention, x: Given, **more: Any) -> Look:
    look = attention(x.query, attention.prepare(x.keys, x.values, x.mask), **more)
    assert isinstance(look, Look)
    return look


def keys_last(look: Look) -> Tensor:
    """The weights with the keys on the last axis, be there an axis of features or not."""
    return look.weights.transpose(-1, -2) if look.features else look.weights


def queries(score: str) -> int:
    return QUERIES if asks(score) else 1


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
def test_shapes_and_weights(score: str, normalizer: str, heads: int | None) -> None:
    attention, x = built(score, normalizer, heads), given(score)
    for training in (False, True):
        look = look_at(attention.train(training), x)
        between = () if heads is None else (heads,)
        assert look.context.shape == (BATCH, queries(score), VALUE)
        before = look.context.clone()
        weights, width = keys_last(look), VALUE if heads is None else attention.heads.size // heads
        assert weights.shape == (BATCH, *between, queries(score), *((width,) if look.features else ()), KEYS)
        assert_close(look.by_key, weights.mean(-2) if look.features else weights)
        assert torch.equal(look.context, before)
        for extra in (look.log_prob, look.entropy):
            assert extra is None or extra.shape == (BATCH, *between, queries(score))
        assert (weights >= 0).all()
        if attention.normalizer.shares:
            assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        hidden = ~x.mask.reshape(BATCH, *[1] * (weights.dim() - 2), KEYS)
        assert (weights.masked_select(hidden) == 0).all()
        values = x.values if heads is None else attention.heads.values(x.values)
        summed = torch.einsum("...qfk,...kf->...qf", weights, values) if look.features else weights @ values
        summed = summed if heads is None else attention.heads.merge(summed)
        assert_close(summed, look.context, atol=1e-6, rtol=1e-5)
    assert look.state is None
    assert not attention.stateful


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
def test_asking_for_weights_never_changes_the_answer(score: str, normalizer: str, heads: int | None) -> None:
    attention, x = built(score, normalizer, heads).train(), given(score)
    torch.manual_seed(5)
    first, second = look_at(attention, x), look_at(attention, x)
    torch.manual_seed(5)
    asked = look_at(attention, x)
    asked_weights = asked.weights
    after = look_at(attention, x)
    assert torch.equal(first.context, asked.context)
    assert torch.equal(second.context, after.context)  # asking draws no random numbers either
    assert torch.equal(first.weights, asked_weights)


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
def test_gradients_are_those_of_the_function(score: str, normalizer: str, heads: int | None) -> None:
    attention, x = built(score, normalizer, heads).double(), given(score, torch.float64, grad=True)
    x.mask[2] = False  # a sentence with nothing visible among them
    hard = attention.normalizer(torch.randn(1, 2)).choice is not None
    if hard or normalizer in not_its_own_gradient:
        # The choice stands still under a small change, and only what was chosen learns.
        assert gradcheck(
            lambda v: look_at(attention, Given(x.query, x.keys, v, x.mask)).context,
            (x.values,),
            fast_mode=True,
            check_undefined_grad=False,
        )
        return
    parameters = list(attention.parameters())
    for seen in (x.mask, torch.ones_like(x.mask)):

        def answer(*_: Tensor, seen: Tensor = seen) -> Tensor:
            return look_at(attention, Given(x.query, x.keys, x.values, seen)).context

        # gradcheck moves its inputs in place, so the closure sees every change, of parameters too.
        assert gradcheck(answer, (*x.leaves(), *parameters), fast_mode=True, check_undefined_grad=False)


@every_weighing
def test_gradients_of_a_weighing_alone(normalizer: str) -> None:
    part = find.build("attend.normalizer", normalizer).eval()
    scores = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 5, [True, False, True, True, False], [False] * 5, [False, True, False, False, False]])
    if part(scores, mask).choice is not None or normalizer in not_its_own_gradient:
        return
    assert gradcheck(lambda e: part(e).soft, (scores,))
    assert gradcheck(lambda e: part(e, mask).soft, (scores,))


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_hidden_does_not_count(score: str, normalizer: str, heads: int | None, dtype: torch.dtype) -> None:
    attention, x = built(score, normalizer, heads).to(dtype), given(score, dtype)
    hidden = ~x.mask[:, :, None]
    for training in (False, True):
        attention.train(training)
        torch.manual_seed(1)
        look = look_at(attention, x)
        torch.manual_seed(1)
        # Far away in every feature: hidden keys would take or lose all the weight if they were seen.
        far = torch.tensor([1e6, -1e6, 1e6, -1e6], dtype=dtype)
        keys, values = torch.where(hidden, far, x.keys), torch.where(hidden, far[:VALUE], x.values)
        changed = look_at(attention, Given(x.query, keys, values, x.mask))
        assert torch.equal(changed.context, look.context)
        assert torch.equal(changed.weights, look.weights)


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_with_nothing_visible(score: str, normalizer: str, heads: int | None, dtype: torch.dtype) -> None:
    attention, x = built(score, normalizer, heads).to(dtype), given(score, dtype, grad=True)
    x.mask[1] = False
    for training in (False, True):
        attention.train(training).zero_grad()
        look = look_at(attention, x)
        assert (look.weights[1] == 0).all()
        nothing = torch.zeros(queries(score), VALUE, dtype=dtype)
        if attention.heads is not None:
            nothing = attention.heads.W_o.bias.expand_as(nothing)
        assert torch.equal(look.context[1], nothing)
        loss = look.context.square().sum()
        loss = loss + sum(extra.sum() for extra in (look.log_prob, look.entropy) if extra is not None)
        slopes = torch.autograd.grad(loss, [*x.leaves(), *attention.parameters()], allow_unused=True)
        assert all(slope is None or slope.isfinite().all() for slope in slopes)
        for slope in slopes[: len(x.leaves())]:
            assert slope is None or (slope[1] == 0).all()
        assert slopes[len(x.leaves()) - 1].abs().max() > 0  # the other rows' values do learn


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
def test_all_rows_hidden(score: str, normalizer: str, heads: int | None) -> None:
    attention, x = built(score, normalizer, heads).train(), given(score, grad=True)
    x.mask[:] = False
    look = look_at(attention, x)
    assert (look.weights == 0).all()
    for slope in torch.autograd.grad(look.context.sum(), x.leaves(), allow_unused=True):
        assert slope is None or (slope == 0).all()


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
def test_sentences_do_not_know_each_other(score: str, normalizer: str, heads: int | None) -> None:
    """A sentence alone, without its padding, gets the answer it gets in a batch."""
    attention, x = built(score, normalizer, heads), given(score)
    together = look_at(attention, x)
    for row, length in enumerate((5, 3, 1)):
        one = x.rows(row)
        cut = Given(one.query, one.keys[:, :length], one.values[:, :length], one.mask[:, :length])
        alone = look_at(attention, cut)
        assert_close(alone.context[0], together.context[row], atol=1e-6, rtol=1e-5)
        assert_close(keys_last(alone)[0], keys_last(together)[row][..., :length], atol=1e-6, rtol=1e-5)
        bare = attention(cut.query, attention.prepare(cut.keys, cut.values))  # and without any mask
        assert_close(bare.context, alone.context, atol=1e-6, rtol=1e-5)


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
def test_saved_and_loaded_it_answers_the_same(score: str, normalizer: str, heads: int | None, tmp_path: Path) -> None:
    attention, x = built(score, normalizer, heads), given(score)
    save_file(attention.state_dict(), tmp_path / "model.safetensors")
    other = built(score, normalizer, heads)
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(look_at(other, x).context, look_at(attention, x).context)


@pytest.mark.thin
@every_score
@every_weighing
@one_or_many_heads
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_runs_in_short_numbers(score: str, normalizer: str, heads: int | None, dtype: torch.dtype) -> None:
    attention, x = built(score, normalizer, heads).to(dtype), given(score, dtype, grad=True)
    x.mask[2] = False
    look = look_at(attention.train(), x)
    assert look.context.dtype == look.weights.dtype == dtype
    assert look.context.isfinite().all()
    look.context.sum().backward()
    for leaf in (*x.leaves(), *attention.parameters()):
        assert leaf.grad is None or (leaf.grad.dtype == dtype and leaf.grad.isfinite().all())
    exact = built(score, normalizer, heads).double()
    exact.load_state_dict(attention.state_dict())
    if look.log_prob is None and attention.normalizer.eval()(torch.randn(1, 2)).choice is None:
        again = look_at(attention, x).weights.double()
        double = Given(None if x.query is None else x.query.double(), x.keys.double(), x.values.double(), x.mask)
        if normalizer not in not_its_own_gradient:  # a near tie may fall the other way
            wanted = look_at(exact, double).weights
            most = max(1.0, float(wanted.detach().max()))  # more than 1 where weights are no shares
            assert_close(again, wanted, atol=most * (0.1 if dtype == torch.bfloat16 else 1e-5), rtol=0)


@pytest.mark.thin
@every_bias
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
@one_or_many_heads
def test_a_bias_speaks_only_of_what_is_there(bias: str, score: str, heads: int | None) -> None:
    """Over three steps: shapes, hidden keys, sentences apart from each other, and the state given from step to step."""
    attention, x = built(score, "softmax", heads, bias), given(score)
    hidden = ~x.mask[:, :, None]
    other = Given(x.query, x.keys.masked_fill(hidden, 1e6), x.values.masked_fill(hidden, 1e6), x.mask)
    asked = torch.randn(3, BATCH, QUERIES, SIZE)

    def steps(y: Given, query: Tensor) -> list[Look]:
        memory, state, looks = attention.prepare(y.keys, y.values, y.mask), None, []
        for q in query:
            looks.append(attention(q, memory, state))
            state = looks[-1].state
            assert (state is not None) == attention.stateful
        return looks

    found = steps(x, asked)
    for look in found:
        assert look.context.shape == (BATCH, QUERIES, VALUE)
        assert look.context.isfinite().all()
        assert (look.weights.movedim(0, -2)[..., ~x.mask] == 0).all()
        assert_close(look.weights.sum(-1), torch.ones(look.weights.shape[:-1]))
    for look, changed in zip(found, steps(other, asked), strict=True):
        assert torch.equal(changed.context, look.context)
    for row, length in enumerate((5, 3, 1)):
        one = x.rows(row)
        cut = Given(None, one.keys[:, :length], one.values[:, :length], one.mask[:, :length])
        for look, alone in zip(found, steps(cut, asked[:, row : row + 1]), strict=True):
            assert_close(alone.context[0], look.context[row], atol=1e-6, rtol=1e-5)


@pytest.mark.thin
@every_bias
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
@one_or_many_heads
def test_gradients_through_a_bias(bias: str, score: str, heads: int | None) -> None:
    attention, x = built(score, "softmax", heads, bias).double(), given(score, torch.float64, grad=True)
    x.mask[2] = False

    def answer(*_: Tensor) -> Tensor:
        memory, state, answers = attention.prepare(x.keys, x.values, x.mask), None, []
        for _step in range(3):
            look = attention(x.query, memory, state)
            answers.append(look.context)
            state = look.state
        return torch.cat(answers, dim=1)

    with torch.no_grad():  # a bias may start as nothing at all
        for p in attention.bias.parameters():
            p.add_(0.1 * torch.randn_like(p))
    assert gradcheck(answer, (*x.leaves(), *attention.parameters()), fast_mode=True, check_undefined_grad=False)
