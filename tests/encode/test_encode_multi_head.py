"""Multi-head encoder: Vaswani's equations head by head, sinusoid positions, where it looked, the published size."""

from math import cos, exp, sin, sqrt

import pytest
import torch
from torch import Tensor

from regard import find
from regard.encode.multi_head import MultiHead, sinusoid
from regard.errors import RegardError
from regard.predict.classify import ClassifyHead
from regard.predict.match.difference import Difference
from regard.types import Sequences

lengths = [4, 1, 6]


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def by_hand(part: MultiHead, words: Tensor) -> tuple[Tensor, Tensor]:
    """States and weights `[head, query, key]` of one sentence, head by head and word by word."""
    around = part.attention.heads
    assert around is not None
    x = torch.stack(
        [
            word + torch.tensor([(sin, cos)[f % 2](i / 10_000 ** (2 * (f // 2) / len(word))) for f in range(len(word))])
            for i, word in enumerate(words)
        ]
    )
    width = part.size // around.heads
    states, weights = [], []
    for j in range(around.heads):
        rows = slice(j * width, (j + 1) * width)
        q, k, v = (x @ W.weight[rows].T for W in (around.W_q, around.W_k, around.W_v))
        a = torch.stack([torch.softmax(torch.stack([one @ other / sqrt(width) for other in k]), 0) for one in q])
        weights.append(a)
        states.append(torch.stack([sum(a[i, n] * v[n] for n in range(len(v))) for i in range(len(q))]))
    h = torch.cat(states, -1)
    if part.residual:
        h = h + (x if part.W_x is None else x @ part.W_x.weight.T)
    if part.norm is not None:
        h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        h = h * part.norm.weight + part.norm.bias
    return h, torch.stack(weights)


def test_worked_by_hand() -> None:
    """One head of one number; of the two words 0 and 1, places 0 and 1 make 0 and 1 + sin 1."""
    part = MultiHead(1, heads=1, size=1).double()
    around = part.attention.heads
    assert around is not None
    with torch.no_grad():
        for W, number in [(around.W_q, 1.0), (around.W_k, 1.0), (around.W_v, 2.0)]:
            W.weight.fill_(number)
    memory = part(sequences(torch.tensor([[[0.0], [1.0]]]).double(), [2]))
    x = 1 + sin(1)  # 1.84147
    one = exp(x * x) / (1 + exp(x * x))  # the second looks at itself with e = 3.39101: 0.96741
    assert memory.keys.flatten().tolist() == pytest.approx([x, 2 * x * one], abs=1e-12)
    assert memory.keys.flatten().tolist() == pytest.approx([1.84147, 3.56292], abs=1e-4)
    assert memory.looks[0][1].weights.flatten().tolist() == pytest.approx([0.5, 0.5, 1 - one, one], abs=1e-12)
    assert memory.summary.item() == pytest.approx((x + 2 * x * one) / 2, abs=1e-12)


@pytest.mark.parametrize(("residual", "norm"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("inputs", "heads", "size"), [(6, 2, 6), (5, 4, 8), (3, 1, 2)])
def test_it_is_the_published_equations(inputs: int, heads: int, size: int, residual: bool, norm: bool) -> None:
    part = MultiHead(inputs, heads, size, residual, norm).double()
    assert (part.W_x is not None) == (residual and inputs != size)
    if part.norm is not None:
        torch.nn.init.normal_(part.norm.weight)
        torch.nn.init.normal_(part.norm.bias)
    values = torch.randn(3, 7, inputs).double()
    memory = part(sequences(values, lengths))
    assert memory.keys is memory.values
    assert memory.keys.shape == (3, 7, size)
    assert part.size == part.summary == size
    ((name, look),) = memory.looks
    assert name == "self-attention"
    assert look.weights.shape == (3, heads, 7, 7)
    for row, length in enumerate(lengths):
        states, weights = by_hand(part, values[row, :length])
        torch.testing.assert_close(memory.keys[row, :length], states)
        torch.testing.assert_close(memory.summary[row], states.mean(0))
        torch.testing.assert_close(look.weights[row, :, :length, :length], weights)
        assert not look.weights[row, :, :, length:].any()
        assert not memory.keys[row, length:].any()


def test_the_fused_path_gives_the_same() -> None:
    """float64 is read by the readable path, float32 by PyTorch's fused one; the weights come when asked for."""
    part, given = MultiHead(6, 2, 8), sequences(torch.randn(3, 7, 6), lengths)
    memory = part(given)
    exact = part.double()(sequences(given.values.double(), lengths))
    torch.testing.assert_close(memory.keys.double(), exact.keys, rtol=1e-5, atol=1e-5)
    weights, wanted = (one.looks[0][1].weights for one in (memory, exact))
    torch.testing.assert_close(weights.double()[given.mask.unsqueeze(1).expand(3, 2, 7)],
                               wanted[given.mask.unsqueeze(1).expand(3, 2, 7)], rtol=1e-5, atol=1e-5)  # fmt: skip


def test_positions() -> None:
    table = sinusoid(torch.arange(50), 6)
    assert table.shape == (50, 6)
    expected = [sin(3), cos(3), sin(3 / 10_000 ** (1 / 3)), cos(3 / 10_000 ** (1 / 3))]
    assert table[3, :4].tolist() == pytest.approx(expected, abs=1e-12)
    assert table[0].tolist() == [0, 1, 0, 1, 0, 1]
    assert sinusoid(torch.arange(4), 5).shape == (4, 5)
    assert sinusoid(torch.arange(0), 4).shape == (0, 4)


def test_a_place_is_told_from_another() -> None:
    """Without positions the order of the words would not matter; with them it does."""
    part, words = MultiHead(4, 2, 8).double(), torch.randn(1, 5, 4).double()
    once, turned = part(sequences(words, [5])).keys, part(sequences(words.flip(1), [5])).keys
    assert not torch.allclose(once, turned.flip(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("counts", "width"), [([3, 0], 3), ([0, 0], 2), ([0, 0], 0)])
def test_an_empty_sequence_is_zeros(counts: list[int], width: int, dtype: torch.dtype) -> None:
    part = MultiHead(3, 2, 4, residual=True, norm=True).to(dtype)
    values = torch.randn(2, width, 3, dtype=dtype, requires_grad=True)
    memory = part(sequences(values, counts))
    assert memory.keys.shape == (2, width, 4)
    assert not memory.keys[1].any()
    assert not memory.summary[1].any()
    assert memory.looks[0][1].weights.shape == (2, 2, width, width)
    assert not memory.looks[0][1].weights[1].any()
    gradients = torch.autograd.grad(memory.keys.sum() + memory.summary.sum(), [values, *part.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][1].any()


def test_padding_may_hold_anything() -> None:
    part, given = MultiHead(3, 2, 4), sequences(torch.randn(3, 7, 3), lengths)
    filled = given.values.masked_fill(~given.mask.unsqueeze(-1), float("nan"))
    assert torch.equal(part(Sequences(filled, given.mask, given.lengths)).keys, part(given).keys)


def test_it_is_as_large_as_published() -> None:
    """2.0m on SNLI: W_q, W_k, W_v of 300 × 600, source2token, `[u; v; u − v; u ⊙ v]` → 300 → 3."""
    part = MultiHead(300)
    assert part.pool == "source2token"
    assert part.size == 600
    pool = find.build("pool", part.pool, inputs=part.size, summary=part.summary)
    whole = [part, pool, ClassifyHead(Difference(pool.size).size, 3)]
    count = sum(p.numel() for module in whole for p in module.parameters())
    assert count == 3 * 300 * 600 + 721_200 + 721_203
    assert count == pytest.approx(2.0e6, rel=0.15)


def test_residual_and_norm_learn() -> None:
    part = MultiHead(3, 2, 4, residual=True, norm=True).double()
    part(sequences(torch.randn(3, 7, 3).double(), lengths)).keys.square().mul(torch.randn(4)).sum().backward()
    assert {name for name, _ in part.named_parameters()} >= {"W_x.weight", "norm.weight", "norm.bias"}
    assert all(p.grad is not None and p.grad.any() for p in part.parameters())


def test_dropout_is_for_the_words_in_training_only() -> None:
    part, given = MultiHead(3, 2, 4, dropout=1.0), sequences(torch.randn(3, 7, 3), lengths)
    assert not part(given).keys.any()
    part = MultiHead(3, 2, 4, dropout=0.5)
    assert not torch.equal(part(given).keys, part(given).keys)
    part.eval()
    assert torch.equal(part(given).keys, part(given).keys)


def test_found_by_name_with_its_options() -> None:
    part = find.build("encode", {"name": "multi_head", "heads": 2, "size": 6}, inputs=4)
    assert isinstance(part, MultiHead)
    assert part.size == 6


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"heads": 7}, "7 heads with size 600; expected a size divisible by the number of heads"),
        ({"heads": 0}, "heads: got 0"),
        ({"head": 3}, "did you mean 'heads'"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        find.build("encode", {"name": "multi_head", **option}, inputs=4)


def test_what_is_added_to_the_heads_is_whole() -> None:
    """Dropout is for what attention reads: where all of it falls, the residual alone is left, and nothing is lost."""
    part, given = MultiHead(4, 2, 4, residual=True, dropout=1.0), sequences(torch.randn(3, 7, 4), lengths)
    x = given.values + sinusoid(torch.arange(7), 4).to(given.values.dtype)
    torch.testing.assert_close(part(given).keys, x.masked_fill(~given.mask.unsqueeze(-1), 0.0))
