"""The seam of biases: three of them written here, held against their equations in plain loops over three steps.

Markov and position are of Cohn et al. 2016, inside the additive tanh; distance acts on the scores.
"""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.nn.functional import pad
from torch.testing import assert_close

from regard.attend.attention import Attention
from regard.attend.bias import Bias, Counting, Terms
from regard.attend.heads import Heads
from regard.attend.normalizer.argmax import Argmax
from regard.attend.score.additive import Additive
from regard.attend.score.scaled_dot import ScaledDot
from regard.types import Beams, Memory
from tiers import sweep_but

BATCH, QUERIES, KEYS, SIZE, VALUE, HIDDEN, STEPS = 2, 3, 5, 4, 6, 5, 3


def heads_of(memory: Memory) -> tuple[int, ...]:
    return tuple(memory.keys.shape[1:-2])


class Markov(Bias):
    """`W ξ_i` in the tanh, ξ_i the last step's weights from i − k to i + k. State: `[batch, query, (head,) key]`."""

    stateful = True

    def __init__(self, hidden: int, reach: int = 1) -> None:
        super().__init__()
        self.reach = reach
        self.W = nn.Linear(2 * reach + 1, hidden, bias=False)

    def start(self, memory: Memory, queries: int) -> Tensor:
        return memory.keys.new_zeros(len(memory.keys), queries, *heads_of(memory), memory.keys.shape[-2])

    def terms(self, memory: Memory, queries: int, state: Tensor) -> Terms:
        pairs = self.W(pad(state, (self.reach, self.reach)).unfold(-1, 2 * self.reach + 1, 1))
        return Terms(pairs=pairs.transpose(1, 2) if heads_of(memory) else pairs)

    def update(self, state: Tensor, weights: Tensor) -> Tensor:
        return weights


class Position(Bias):
    """`w_j log(1+j)` with the query, `w_i log(1+i) + w_I log(1+I)` with the keys. State: j, `[batch, query]`."""

    stateful = True

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.w_j, self.w_i, self.w_I = (nn.Parameter(torch.randn(hidden)) for _ in range(3))

    def start(self, memory: Memory, queries: int) -> Tensor:
        return memory.keys.new_zeros(len(memory.keys), queries)

    def terms(self, memory: Memory, queries: int, state: Tensor) -> Terms:
        assert memory.mask is not None
        i = torch.arange(memory.mask.shape[1]).to(self.w_i)
        lengths = memory.mask.sum(-1).to(self.w_I)
        query = state.log1p()[..., None] * self.w_j
        keys = i.log1p()[:, None] * self.w_i + lengths.log1p()[:, None, None] * self.w_I
        return Terms(query.unsqueeze(1), keys.unsqueeze(1)) if heads_of(memory) else Terms(query, keys)

    def update(self, state: Tensor, weights: Tensor) -> Tensor:
        return state + 1


class RelativePosition(Bias):
    """`−s |j − i|` added to the scores, j the number of the query. No state; the same for every sentence and head."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.s = nn.Parameter(torch.tensor(0.3))

    def terms(self, memory: Memory, queries: int, state: Any) -> Terms:
        apart = torch.arange(queries)[:, None] - torch.arange(memory.keys.shape[-2])[None, :]
        return Terms(scores=-self.s * apart.abs())


kinds = {
    "markov": (Markov,),
    "position": (Position,),
    "relative_position": (RelativePosition,),
    "all": (RelativePosition, Markov, Position),
}
every_kind = pytest.mark.parametrize("kind", kinds)
one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])


def built(kind: str, heads: int | None, score: str = "additive", dtype: torch.dtype = torch.float64) -> Attention:
    around = None if heads is None else Heads(SIZE, SIZE, VALUE, heads, 6)
    width = SIZE if around is None else 6 // around.heads
    scored = Additive(width, width, HIDDEN) if score == "additive" else ScaledDot(width, width)
    return Attention(scored, bias=[bias(scored.hidden) for bias in kinds[kind]], heads=around).to(dtype)


def given(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries of three steps, keys, values, and a mask: the second sentence has three keys."""
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    queries = torch.randn(STEPS, BATCH, QUERIES, SIZE, dtype=dtype)
    return queries, torch.randn(BATCH, KEYS, SIZE, dtype=dtype), torch.randn(BATCH, KEYS, VALUE, dtype=dtype), mask


def looked(attention: Attention, queries: Tensor, memory: Memory) -> list[Any]:
    state, looks = None, []
    for query in queries:
        looks.append(attention(query, memory, state))
        state = looks[-1].state
    return looks


def one_head(attention: Attention, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    """Answers and weights of all steps, number by number, for queries and keys `SIZE` or one head wide."""
    bias = {type(part): part for part in attention.bias}
    score = attention.score
    answers = torch.zeros(STEPS, BATCH, QUERIES, values.shape[-1], dtype=values.dtype)
    weights = torch.zeros(STEPS, BATCH, QUERIES, KEYS, dtype=values.dtype)
    for b in range(BATCH):
        length = int(mask[b].sum())
        for n in range(QUERIES):
            before = [0.0] * KEYS
            for j in range(STEPS):
                scores = []
                for i in range(length):
                    q, k = queries[j, b, n], keys[b, i]
                    additive = isinstance(score, Additive)
                    inner = score.W_q.weight @ q + score.W_q.bias if additive else q
                    outer = score.W_k.weight @ k if additive else k
                    if Position in bias:
                        inner = inner + bias[Position].w_j * math.log(1 + j)
                        outer = outer + bias[Position].w_i * math.log(1 + i)
                        outer = outer + bias[Position].w_I * math.log(1 + length)
                    if Markov in bias:
                        xi = [before[i + m] if 0 <= i + m < KEYS else 0.0 for m in (-1, 0, 1)]
                        outer = outer + sum(bias[Markov].W.weight[:, m] * xi[m] for m in range(3))
                    e = score.w @ torch.tanh(inner + outer) if additive else inner @ outer / math.sqrt(len(q))
                    if RelativePosition in bias:
                        e = e - bias[RelativePosition].s * abs(n - i)
                    scores.append(math.exp(e.item()))
                for i in range(length):
                    before[i] = weights[j, b, n, i] = scores[i] / sum(scores)
                    answers[j, b, n] += weights[j, b, n, i] * values[b, i]
    return answers, weights


@torch.no_grad()
def by_hand(attention: Attention, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    h = attention.heads
    if h is None:
        return one_head(attention, queries, keys, values, mask)
    parts = []
    for head in range(h.heads):
        own = slice(head * h.size // h.heads, (head + 1) * h.size // h.heads)
        q, k, v = (x @ W.weight[own].T + W.bias[own] for x, W in ((queries, h.W_q), (keys, h.W_k), (values, h.W_v)))
        parts.append(one_head(attention, q, k, v, mask))
    answers = torch.cat([answer for answer, _ in parts], dim=-1) @ h.W_o.weight.T + h.W_o.bias
    return answers, torch.stack([weights for _, weights in parts], dim=2)


@pytest.mark.thin
@every_kind
@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_three_steps_are_the_equations(kind: str, heads: int | None, score: str, dtype: torch.dtype) -> None:
    attention, (queries, keys, values, mask) = built(kind, heads, score, dtype), given(dtype)
    looks = looked(attention, queries, attention.prepare(keys, values, mask))
    answers, weights = by_hand(attention, queries, keys, values, mask)
    for j, look in enumerate(looks):
        assert_close(look.context, answers[j], atol=1e-5 if dtype == torch.float32 else 1e-9, rtol=1e-5)
        assert_close(look.weights, weights[j], atol=1e-5 if dtype == torch.float32 else 1e-9, rtol=1e-5)
    # The biases do speak: without them the last look is another.
    plain = Attention(attention.score, heads=attention.heads)
    bare = plain(queries[-1], plain.prepare(keys, values, mask)).context
    assert (bare - answers[-1]).abs().max() > 1e-3


def test_a_step_by_hand() -> None:
    """One number: hidden 1, W_q = W_k = 0, w = 2, and a window that looks one place back: W = (1, 0, 0)."""
    attention = Attention(Additive(1, 1, 1), bias=[Markov(1)])
    with torch.no_grad():
        for p in attention.parameters():
            p.zero_()
        attention.score.w.fill_(2.0)
        attention.bias[0].W.weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
    memory = attention.prepare(torch.zeros(1, 2, 1), torch.tensor([[[0.0], [1.0]]]))
    first, second = looked(attention, torch.zeros(2, 1, 1, 1), memory)
    # Step 1: both scores 0, weights (½, ½). Step 2: ξ = (0, ½), scores (0, 2 tanh ½) = (0, 0.924234),
    # weights 1/(1 + e^∓0.924234): the answer is the second weight, 0.715904.
    assert_close(first.context.item(), 0.5)
    assert_close(second.context.item(), 0.715904, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "stateful"), [("markov", True), ("position", True), ("relative_position", False), ("all", True)]
)
def test_it_says_whether_steps_depend_on_each_other(kind: str, stateful: bool) -> None:
    attention, (queries, keys, values, mask) = built(kind, None), given()
    assert attention.stateful is stateful
    state = attention(queries[0], attention.prepare(keys, values, mask)).state
    assert (state is not None) is stateful
    if stateful:
        assert len(state) == 1 + len(attention.bias)  # one a part, the score's own first
        assert state[0] is None


@one_or_many_heads
def test_state_travels_by_argument_only(heads: int | None) -> None:
    """The same state gives the same look however often; another state another; no module remembers."""
    attention, (queries, keys, values, mask) = built("all", heads), given()
    memory = attention.prepare(keys, values, mask)
    looks = looked(attention, queries, memory)
    again = attention(queries[1], memory, looks[0].state)
    assert torch.equal(again.context, looks[1].context)
    assert torch.equal(again.weights, looks[1].weights)
    fresh = attention(queries[1], memory)
    assert (fresh.context - again.context).abs().max() > 1e-3
    assert torch.equal(looked(attention, queries, memory)[-1].context, looks[-1].context)


@dataclass(frozen=True)
class State(Beams):
    """What a decoder would carry: attention's state beside the memory."""

    looked: Any
    memory: Memory


@every_kind
@one_or_many_heads
def test_hypotheses_follow_their_parents(kind: str, heads: int | None) -> None:
    """Three hypotheses a sentence; after reordering each looks as it would had it been alone on its own path."""
    attention, (queries, keys, values, mask) = built(kind, heads), given()
    memory = attention.prepare(keys, values, mask)
    parents = [torch.tensor([[2, 0, 0], [1, 1, 2]]), torch.tensor([[0, 2, 1], [2, 0, 0]])]

    state = State(None, memory)
    for j in range(STEPS):
        look = attention(queries[j], state.memory, state.looked)
        state = State(look.state, state.memory)
        if j < 2:
            state = state.reorder(parents[j])
            assert state.memory is memory or torch.equal(state.memory.keys, memory.keys)

    for b in range(BATCH):
        for n in range(QUERIES):
            middle = int(parents[1][b, n])
            first = int(parents[0][b, middle])
            alone, path = memory.select(torch.tensor([b])), None
            for j, which in enumerate((first, middle, n)):
                # Three times the same query, of which the one in its own place counts: distances number the queries.
                own = attention(queries[j, b, which].expand(1, QUERIES, SIZE), alone, path)
                path = None
                if own.state is not None:
                    path = tuple(
                        None if x is None else x[:, which, None].expand(1, QUERIES, *x.shape[2:]) for x in own.state
                    )
            assert_close(own.context[0, n], look.context[b, n])


def test_one_hypothesis_becomes_many() -> None:
    attention, (queries, keys, values, mask) = built("all", 2), given()
    memory = attention.prepare(keys, values, mask)
    one = attention(queries[0][:, :1], memory)
    state = State(one.state, memory).reorder(torch.zeros(BATCH, QUERIES, dtype=torch.long))
    wide = attention(queries[1], memory, state.looked)
    assert wide.context.shape == (BATCH, QUERIES, VALUE)
    assert_close(wide.context[:, :1], attention(queries[1][:, :1], memory, one.state).context)


@pytest.mark.thin
@every_kind
@one_or_many_heads
@pytest.mark.parametrize("score", sweep_but(["additive", "scaled_dot"], "additive"))
def test_gradients_through_three_steps(kind: str, heads: int | None, score: str) -> None:
    attention, (queries, keys, values, mask) = built(kind, heads, score), given()
    mask[1] = False  # nothing to see in the second sentence, at any step
    leaves = [x.requires_grad_() for x in (queries, keys, values)]

    def answers(*_: Tensor) -> Tensor:
        memory = attention.prepare(keys, values, mask)
        return torch.stack([look.context for look in looked(attention, queries, memory)])

    assert gradcheck(answers, (*leaves, *attention.parameters()), fast_mode=True, check_undefined_grad=False)
    slopes = torch.autograd.grad(answers().square().sum(), list(attention.bias.parameters()))
    assert all(slope.abs().max() > 0 for slope in slopes)


@one_or_many_heads
def test_a_fused_answer_takes_the_scores_of_a_bias(heads: int | None) -> None:
    """In float32 a distance under scaled dot products runs fused; its gradients are those of float64."""
    attention, (queries, keys, values, mask) = (
        built("relative_position", heads, "scaled_dot", torch.float32),
        given(torch.float32),
    )
    mask[1] = False
    exact = built("relative_position", heads, "scaled_dot")
    exact.load_state_dict(attention.state_dict())
    slopes = []
    for module in (attention, exact):
        x = [t.to(next(module.parameters()).dtype).requires_grad_() for t in (queries[0], keys, values)]
        answer = module(x[0], module.prepare(x[1], x[2], mask)).context
        slopes.append(torch.autograd.grad(answer.square().sum(), [*x, *module.parameters()]))
    for short, long in zip(*slopes, strict=True):
        assert_close(short.double(), long, atol=1e-4, rtol=1e-4)


@one_or_many_heads
def test_a_bias_may_remember_a_hard_choice(heads: int | None) -> None:
    attention, (queries, keys, values, mask) = built("markov", heads), given()
    attention.normalizer = Argmax()
    first = attention(queries[0], attention.prepare(keys, values, mask))
    remembered = first.state[1] if heads is None else first.state[1].transpose(1, 2)
    assert torch.equal(remembered, first.weights)
    assert remembered.unique().tolist() == [0.0, 1.0]


def test_who_counts_steps_is_asked_step_by_step_and_waits_for_nobody() -> None:
    """Or every step would be taken for the first."""
    counting = Attention(ScaledDot(SIZE, SIZE), Argmax(), bias=(Counting(),))
    assert counting.stateful
    assert not counting.waits
    memory = Memory(torch.zeros(BATCH, KEYS, SIZE), torch.zeros(BATCH, KEYS, VALUE))
    (_, state) = counting.start(memory)
    assert state.tolist() == [[0], [0]]
    assert Counting().steps(state, 3).tolist() == [[0, 1, 2]] * BATCH
    assert Counting().steps(Counting().advance(state, 3), 1).tolist() == [[3]] * BATCH
