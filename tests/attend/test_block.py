"""A block: its three parts by hand, what is hidden, what was read before, and any score or normalizer within it."""

from math import sqrt
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import find
from regard.attend.attention import make
from regard.attend.block import Block, SelfAttention, xavier
from regard.attend.mask import causal
from regard.attend.positions import Kind, Places, Positions
from regard.errors import RegardError
from regard.types import Memory

size, heads = 8, 2
nowhere = Places()


def block(**options: Any) -> Block:
    asking = make(size, size, size, score="scaled_dot", heads=heads)
    return Block(size, heads, ffn=12, dropout=0.3, asking=asking, **options).double().eval()


def norm(x: Tensor, layer: nn.LayerNorm) -> Tensor:
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return x * layer.weight + layer.bias


def answers(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """Head by head and query by query."""
    width, rows = size // heads, []
    for j in range(len(q)):
        parts = []
        for h in range(heads):
            own = slice(h * width, (h + 1) * width)
            there = [i for i in range(len(k)) if seen[j, i]]
            scores = torch.stack([q[j, own] @ k[i, own] / sqrt(width) for i in there])
            parts.append(sum(a * v[i, own] for a, i in zip(torch.softmax(scores, 0), there, strict=True)))
        rows.append(torch.cat(parts))
    return torch.stack(rows)


def shaken(part: nn.Module) -> None:
    """Gains of one and biases of zero would hide where they stand."""
    for parameter in part.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)


def test_the_network_by_hand() -> None:
    """(0, 2) is normalised to (−1, 1); of the inner (−1 + 0.5, 2·1 − 1) relu leaves (0, 1); W_2 gives (3, −1) + 0.5."""
    part = Block(2, 1, ffn=2, dropout=0.0).double()
    with torch.no_grad():
        part.norm_think.eps = 0.0
        part.W_1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
        part.W_1.bias.copy_(torch.tensor([0.5, -1.0]))
        part.W_2.weight.copy_(torch.tensor([[7.0, 3.0], [7.0, -1.0]]))
        part.W_2.bias.fill_(0.5)
    assert part.think(torch.tensor([[[0.0, 2.0]]]).double()).flatten().tolist() == pytest.approx([3.5, 1.5], abs=1e-12)


@pytest.mark.parametrize("kind", ["sinusoid", "rotary"])
def test_each_part_by_its_equation(kind: Kind) -> None:
    part = block()
    shaken(part)
    x, keys, values = (torch.randn(1, time, size).double() for time in (4, 3, 3))
    places, seen = Positions(kind, size, heads)(0, 4), causal(4, 4)

    q, k, v = (norm(x[0], part.norm_attend) @ part.attending.W_qkv.weight.T).chunk(3, -1)
    o = part.attending.attention.heads.W_o
    expected = x + o(answers(places.rotated(q), places.rotated(k), v, seen))
    found, look, _ = part.attend(x, places, seen=seen[None])
    torch.testing.assert_close(found, expected)
    assert look.weights.shape == (1, heads, 4, 4)
    assert not look.weights[0, :, ~seen].any()

    around = part.asking.heads
    mask = torch.tensor([[True, True, False]])
    expected = x + around.W_o(
        answers(around.W_q(norm(x[0], part.norm_ask)), around.W_k(keys[0]), around.W_v(values[0]), mask.expand(4, 3))
    )
    torch.testing.assert_close(part.ask(x, part.asking.prepare(keys, values, mask))[0], expected)

    inner = (norm(x, part.norm_think) @ part.W_1.weight.T + part.W_1.bias).clamp(min=0)
    torch.testing.assert_close(part.think(x), x + inner @ part.W_2.weight.T + part.W_2.bias)


@pytest.mark.parametrize("kind", ["sinusoid", "rotary"])
def test_read_in_parts_is_read_as_one(kind: Kind) -> None:
    part, x, positions = block(), torch.randn(3, 7, size).double(), Positions(kind, size, heads)
    whole, _, memory = part.attend(x, positions(0, 7), seen=causal(7, 7)[None])
    past, found, at = None, [], 0
    for time in [1, 1, 4, 1]:
        y, _, past = part.attend(x[:, at : at + time], positions(at, time), None, causal(time, at + time)[None], past)
        found.append(y)
        at += time
    torch.testing.assert_close(torch.cat(found, 1), whole)
    assert past is not None
    torch.testing.assert_close(past.keys, memory.keys)
    torch.testing.assert_close(past.values, memory.values)


def test_what_is_hidden_is_nothing() -> None:
    part = block()
    x = torch.randn(3, 5, size).double().requires_grad_()
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 5])
    y, look, _ = part.attend(x, nowhere, mask)
    alone, _, _ = part.attend(x[1:2, :2], nowhere)
    torch.testing.assert_close(y[1:2, :2], alone)
    # Nothing to look at: zeros, to which W_o adds its bias.
    torch.testing.assert_close(y[2], x[2] + part.attending.attention.heads.W_o.bias)
    assert not look.weights[2].any()
    (y * mask.unsqueeze(-1)).square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[~mask].any()
    assert part.think(part.attend(x[:, :0], nowhere, mask[:, :0])[0]).shape == (3, 0, size)


def test_dropping_is_for_training() -> None:
    part, x = block(), torch.randn(2, 4, size).double()
    memory = part.asking.prepare(x)
    steps = [lambda: part.attend(x, nowhere)[0], lambda: part.ask(x, memory)[0], lambda: part.think(x)]
    for step in steps:
        assert torch.equal(step(), step())
    part.train()
    for step in steps:
        # What is dropped is what is added: x itself always passes.
        assert not torch.equal(step(), step())
        assert 0.1 < float((step() == x).double().mean()) < 0.6


def test_dropping_is_also_within_the_network() -> None:
    part, x = block(), torch.randn(2, 50, size).double()
    clean = part.think(x) - x
    added = part.train().think(x) - x
    outside = (added == 0) | torch.isclose(added, clean / 0.7)  # dropped, or raised for those that were
    assert float(outside.double().mean()) < 0.6


@pytest.mark.parametrize("score", [name for name in find.names("attend.score") if name != "learned_query"])
@pytest.mark.parametrize("normalizer", ["softmax", "entmax", "sample"])
def test_any_score_and_weighing_may_be_within(score: str, normalizer: str) -> None:
    part = SelfAttention(size, heads, score, normalizer).double()
    x = torch.randn(2, 5, size).double()
    look, memory = part(x, nowhere, seen=causal(5, 5)[None])
    assert look.context.shape == (2, 5, size)
    assert look.by_key.shape == (2, heads, 5, 5)
    assert not look.by_key.triu(1).any()
    if normalizer != "sample":
        first, past = part(x[:, :2], nowhere, seen=causal(2, 2)[None])
        rest, _ = part(x[:, 2:], nowhere, seen=causal(3, 5)[None], past=past)
        torch.testing.assert_close(torch.cat([first.context, rest.context], 1), look.context)
    assert memory.keys.shape[:3] == (2, heads, 5)


def test_a_score_without_queries_has_no_place_here() -> None:
    with pytest.raises(RegardError, match="learned_query got a query"):
        SelfAttention(size, heads, "learned_query")(torch.zeros(1, 2, size), nowhere)


def test_what_is_fused_is_what_is_read() -> None:
    """In float32 the answer comes from a fused kernel; weights are there all the same, and change nothing."""
    part, x = block().float(), torch.randn(2, 6, size)
    y, look, _ = part.attend(x, nowhere, seen=causal(6, 6)[None])
    exact, exactly, _ = part.double().attend(x.double(), nowhere, seen=causal(6, 6)[None])
    torch.testing.assert_close(y.double(), exact, rtol=1e-5, atol=1e-5)
    part.float()
    torch.testing.assert_close(look.weights.double(), exactly.weights, rtol=1e-5, atol=1e-5)


def test_it_begins_as_glorot_has_it() -> None:
    layer = nn.Linear(30, 50)
    xavier(layer)
    assert 0.9 * sqrt(6 / 80) < float(layer.weight.detach().abs().max()) <= sqrt(6 / 80)
    assert not layer.bias.any()
    part = block()
    around = (part.attending.attention.heads, part.asking.heads)  # also what others made
    for one in [part.attending.W_qkv, part.W_1, part.W_2, *(around[i].W_o for i in (0, 1)), around[1].W_k]:
        spread = float(one.weight.detach().abs().max())
        assert one.in_features**-0.5 < 0.95 * sqrt(6 / sum(one.weight.shape)) < spread  # wider than torch begins
        assert spread <= sqrt(6 / sum(one.weight.shape))


def test_gradients_are_right() -> None:
    part = block()
    x, keys = torch.randn(2, 3, size).double().requires_grad_(), torch.randn(2, 4, size).double().requires_grad_()
    places = Positions("rotary", size, heads)(0, 3)

    def after(x: Tensor, keys: Tensor, *_: Tensor) -> Tensor:
        x, _, _ = part.attend(x, places, seen=causal(3, 3)[None])
        return part.think(part.ask(x, part.asking.prepare(keys))[0])

    assert torch.autograd.gradcheck(after, (x, keys, *part.parameters()), fast_mode=True)


def test_heads_divide_the_width() -> None:
    with pytest.raises(RegardError, match="3 heads with size 8"):
        Block(8, 3, 8, 0.0)


def test_without_a_memory_nothing_is_asked() -> None:
    part = Block(size, heads, 8, 0.0)
    assert part.norm_ask is None
    with pytest.raises(AssertionError):
        part.ask(torch.zeros(1, 1, size), Memory(torch.zeros(1, 1, size), torch.zeros(1, 1, size)))
