"""Additive attention: numbers by hand, the operator's contract, weights on demand, what users get wrong."""

import subprocess
import sys
from math import exp, tanh
from typing import Any

import pytest
import torch
from additive_cases import SIGHTS, at_once
from torch.testing import assert_close

from regard.attend.mask import causal, padding
from regard.attend.normalizer.softmax import softmax
from regard.attend.score.additive import additive
from regard.errors import RegardError
from regard.kernels.additive import _attend, _chosen, additive_attention, additive_reference, additive_weights

BACKENDS = ["cpu", "reference"]


def inputs(*lead: int, queries: int = 6, keys: int = 9, width: int = 7) -> list[torch.Tensor]:
    sizes = ((queries, width), (keys, width), (keys, 4))
    return [torch.randn(*lead, *size) for size in sizes] + [torch.randn(width)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_by_hand(backend: Any) -> None:
    # One query 0.5, keys -0.5, 1 and one that is hidden, w = 2: scores 2 tanh 0 = 0 and 2 tanh 1.5.
    q, k, w = torch.tensor([[[0.5]]]), torch.tensor([[[-0.5], [1.0], [9.0]]]), torch.tensor([2.0])
    v = torch.tensor([[[1.0, 0.0], [0.0, 10.0], [100.0, 100.0]]])
    second = exp(2 * tanh(1.5)) / (1 + exp(2 * tanh(1.5)))
    answer = additive_attention(q, k, v, w, lengths=torch.tensor([2]), backend=backend)
    assert_close(answer, torch.tensor([[[1 - second, 10 * second]]]))
    # A bias that evens the two out.
    bias = torch.tensor([2 * tanh(1.5), 0.0, 0.0])
    answer = additive_attention(q, k, v, w, lengths=torch.tensor([2]), bias=bias, backend=backend)
    assert_close(answer, torch.tensor([[[0.5, 5.0]]]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_is_the_readable_attention(backend: Any) -> None:
    q, k, v, w = inputs(3)
    lengths = torch.tensor([9, 4, 0])
    mask = padding(lengths, 9)[:, None] & causal(6, 9)
    expected = softmax(additive(q, k, w), mask) @ v
    assert_close(additive_attention(q, k, v, w, lengths=lengths, pattern="causal", backend=backend), expected)
    assert_close(additive_attention(q, k, v, w, mask, backend=backend), expected)
    assert_close(additive_reference(q, k, v, w, mask), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hidden_rows_are_zero_with_zero_gradients(backend: Any) -> None:
    given = [tensor.requires_grad_() for tensor in inputs(2)]
    answer = additive_attention(*given, lengths=torch.tensor([0, 5]), backend=backend)
    assert (answer[0] == 0).all()
    answer.square().sum().backward()
    for tensor in given[:3]:
        assert tensor.grad is not None
        assert (tensor.grad[0] == 0).all()
        assert tensor.grad.isfinite().all()
        assert tensor.grad[1].abs().max() > 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_heads_are_leading_axes(backend: Any) -> None:
    q, k, v, w = inputs(2, 3)
    lengths, bias = torch.tensor([9, 5]), torch.randn(2, 1, 6, 9, requires_grad=True)
    places = torch.randint(0, 9, (2, 6)), torch.randint(0, 9, (2, 9))
    found = additive_attention(
        q, k, v, w, lengths=lengths, bias=bias, pattern="forward", positions=places, backend=backend
    )
    assert found.shape == (2, 3, 6, 4)
    for head in range(3):
        alone = additive_attention(
            q[:, head], k[:, head], v[:, head], w, lengths=lengths, bias=bias[:, 0], pattern="forward",
            positions=places, backend=backend,
        )  # fmt: skip
        assert_close(found[:, head], alone)
    found.sum().backward()
    assert bias.grad is not None
    assert bias.grad.shape == bias.shape


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_on_demand(backend: Any) -> None:
    q, k, _, w = inputs(2)
    bias = torch.randn(6, 9)
    options: dict[str, Any] = {"lengths": torch.tensor([9, 3]), "pattern": "not_self", "bias": bias, "backend": backend}
    seen = padding(options["lengths"], 9)[:, None] & (torch.arange(9) != torch.arange(6)[:, None] + 3)
    expected = softmax(additive(q, k, w) + bias, seen)
    every = additive_weights(q, k, w, **options)
    assert isinstance(every, torch.Tensor)
    assert_close(every, expected)
    assert_close(additive_weights(q, k, w, rows=[4, 0], **options), expected[:, [4, 0]])
    values, keys = additive_weights(q, k, w, top=2, **options)
    assert_close((values, keys), tuple(expected.topk(2)))
    values, keys = additive_weights(q, k, w, top=20, rows=torch.tensor([5]), **options)
    assert values.shape == (2, 1, 9)


@pytest.mark.parametrize("name", SIGHTS)
def test_weights_of_all_rows_are_those_of_each(name: str) -> None:
    at_once(name, "cpu")


@pytest.mark.sweep
def test_the_operator_keeps_its_contract() -> None:
    q, k, v, w = (tensor.requires_grad_() for tensor in inputs(2))
    lengths = torch.tensor([9, 4])
    plain = (q, k, v, w, None, None, None, "none", -1, None, None, None, 0.0, None, "cpu")
    bias = torch.randn(1, 6, 9, requires_grad=True)
    full = (q, k, v, w, bias, lengths, None, "causal", 3, None, None, None, 0.5, torch.tensor([7]), "cpu")
    for arguments in (plain, full):
        torch.library.opcheck(_attend, arguments)


@pytest.mark.sweep
def test_it_compiles_and_keeps_its_graph_whole() -> None:
    """In a process of its own: the checking of shapes in these tests is nothing that a compiler could follow."""
    code = """
import torch
from regard.kernels.additive import additive_attention
given = [torch.randn(size, requires_grad=True) for size in ((2, 6, 7), (2, 9, 7), (2, 9, 4), (7,))]
whole = torch.compile(additive_attention, backend="aot_eager", fullgraph=True)
for keys in (9, 8, 5):
    some = [given[0], given[1][:, :keys], given[2][:, :keys], given[3]]
    lengths = torch.tensor([keys, 4])
    found, expected = whole(*some, lengths=lengths), additive_attention(*some, lengths=lengths)
    torch.testing.assert_close(found, expected)
    pull = torch.randn_like(found)
    torch.testing.assert_close(torch.autograd.grad(found, given, pull), torch.autograd.grad(expected, given, pull))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_types() -> None:
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        q, k, v, w = (tensor.to(dtype) for tensor in inputs(2))
        assert additive_attention(q, k, v, w).dtype == dtype
    q, k, v, w = inputs(2)
    mixed = additive_attention(q.bfloat16(), k.bfloat16(), v, w)  # as under autocast
    assert mixed.dtype == torch.float32
    assert_close(mixed, additive_attention(q, k, v, w), atol=5e-2, rtol=5e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_queries_and_keys_of_different_types_meet_in_the_wider(backend: Any) -> None:
    q, k, v, w = inputs(2)
    given = [tensor.requires_grad_() for tensor in (q.bfloat16(), k, v.bfloat16(), w)]
    found = additive_attention(*given, backend=backend)
    assert found.dtype == torch.bfloat16
    assert_close(found, additive_attention(q.bfloat16().float(), k, v.bfloat16(), w, backend=backend))
    found.float().sum().backward()
    assert [tensor.grad.dtype for tensor in given] == [tensor.dtype for tensor in given]  # type: ignore[union-attr]
    weights = additive_weights(q.bfloat16(), k, w, backend=backend)
    assert_close(weights, additive_weights(q.bfloat16().float(), k, w, backend=backend))


@pytest.mark.parametrize("sizes", [(0, 5, 3), (2, 0, 3), (2, 5, 0)])
def test_nothing_to_do(sizes: tuple[int, int, int]) -> None:
    queries, keys, width = sizes
    q, k, v, w = inputs(2, queries=queries, keys=keys, width=width)
    answer = additive_attention(q, k, v, w)
    assert answer.shape == (2, queries, 4)
    assert_close(answer, additive_reference(q, k, v, w))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pattern": "casual"}, "did you mean 'causal'"),
        ({"band": -2}, "band: got -2"),
        ({"dropout": 1.0}, "dropout: got 1.0"),
        ({"mask": torch.ones(5, 6, 9, dtype=torch.bool)}, "a mask of shape"),
        ({"lengths": torch.ones(5, dtype=torch.long)}, "lengths of shape"),
        ({"bias": torch.ones(4, 9)}, "a bias of shape"),
        ({"bias": torch.ones(2, 1, 6, 9)}, "a bias of shape"),
    ],
)
def test_what_cannot_be_used_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        additive_attention(*inputs(2), **options)


def test_the_path_is_chosen_by_what_there_is() -> None:
    some = torch.ones(2)
    for backend in ("auto", "cpu"):
        assert _chosen(backend, some) == "cpu"
        assert _chosen(backend, some, some.double()) == "reference"
        assert _chosen(backend, some, some[:0]) == "reference"
