"""Transformer encoder: the equations block by block, positions, where each layer looked, its size."""

from math import cos, sin, sqrt

import pytest
import torch
from torch import Tensor, nn

from regard import find
from regard.attend.positions import Kind
from regard.encode.transformer import Transformer
from regard.errors import RegardError
from regard.types import Memory, Sequences

lengths = [4, 1, 6]
kinds: list[Kind] = ["sinusoid", "learned", "rotary"]
every = pytest.mark.parametrize("kind", kinds)


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def encoder(inputs: int = 8, kind: Kind = "sinusoid", layers: int = 2, dropout: float = 0.1) -> Transformer:
    """Small, exact and at rest; gains and biases are not those it begins with, which would hide where they stand."""
    part = Transformer(inputs, 8, layers, heads=2, ffn=12, dropout=dropout, positions=kind, max_length=10)
    for parameter in part.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    return part.double().eval()


def norm(x: Tensor, layer: nn.LayerNorm) -> Tensor:
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return x * layer.weight + layer.bias


def by_hand(part: Transformer, words: Tensor) -> tuple[Tensor, list[Tensor]]:
    """States, and each layer's weights `[head, query, key]`, of one sentence."""
    time, inputs = words.shape
    x = sqrt(inputs) * words
    if part.W_x is not None:
        x = x @ part.W_x.weight.T + part.W_x.bias
    if part.positions.kind == "sinusoid":
        waves = [[(sin, cos)[f % 2](i / 10_000 ** (2 * (f // 2) / 8)) for f in range(8)] for i in range(time)]
        x = x + torch.tensor(waves, dtype=torch.float64)
    if part.positions.places is not None:
        x = x + part.positions.places.weight[:time]
    looked = []
    for block in part.blocks:
        q, k, v = (norm(x, block.norm_attend) @ block.attending.W_qkv.weight.T).chunk(3, -1)
        heads, weights = [], []
        for own in (slice(0, 4), slice(4, 8)):
            e = torch.zeros(time, time).double()
            for j in range(time):
                for i in range(time):
                    turn = torch.eye(4).double()
                    if part.positions.kind == "rotary":
                        # q_j · R(i − j) k_i: pairs turn by the distance, the second pair a hundredth as fast.
                        for f, angle in enumerate([i - j, (i - j) / 100]):
                            pair = slice(2 * f, 2 * f + 2)
                            turn[pair, pair] = torch.tensor([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
                    e[j, i] = q[j, own] @ turn @ k[i, own] / 2
            weights.append(torch.softmax(e, -1))
            heads.append(weights[-1] @ v[:, own])
        W_o = block.attending.attention.heads.W_o
        x = x + torch.cat(heads, -1) @ W_o.weight.T + W_o.bias
        inner = (norm(x, block.norm_think) @ block.W_1.weight.T + block.W_1.bias).clamp(min=0)
        x = x + inner @ block.W_2.weight.T + block.W_2.bias
        looked.append(torch.stack(weights))
    return norm(x, part.norm), looked


def test_worked_by_hand() -> None:
    """Without blocks: words (0.5, −0.5) and (0, 2) at places 0 and 1, times √2, beside (0, 1) and (sin 1, cos 1)."""
    part = Transformer(2, size=2, layers=0, heads=1).double().eval()
    part.norm.eps = 0.0
    nn.init.constant_(part.norm.bias, 0.25)
    x = [(0.70711, 0.29289), (0.84147, 3.36873)]  # two features are normalised to 1 for the greater, −1 for the less
    assert x[0][0] > x[0][1]
    memory = part(sequences(torch.tensor([[[0.5, -0.5], [0.0, 2.0]]]).double(), [2]))
    assert memory.values[0].tolist() == [pytest.approx([1.25, -0.75]), pytest.approx([-0.75, 1.25])]
    assert memory.summary is not None
    assert memory.summary[0].tolist() == pytest.approx([0.25, 0.25])


@every
@pytest.mark.parametrize("inputs", [8, 5])
def test_equations(kind: Kind, inputs: int) -> None:
    part, words = encoder(inputs, kind), torch.randn(3, 6, inputs).double()
    memory = part(sequences(words, lengths))
    assert [name for name, _ in memory.looks] == ["layer 1", "layer 2"]
    for row, length in enumerate(lengths):
        states, looked = by_hand(part, words[row, :length])
        torch.testing.assert_close(memory.values[row, :length], states)
        assert memory.summary is not None
        torch.testing.assert_close(memory.summary[row], states.mean(0))
        for (_, look), weights in zip(memory.looks, looked, strict=True):
            torch.testing.assert_close(look.weights[row, :, :length, :length], weights)
            assert not look.weights[row, :, :, length:].any()
    assert memory.keys is memory.values
    assert not memory.values[1, 1:].any()


@every
def test_order_counts(kind: Kind) -> None:
    part, words = encoder(kind=kind), torch.randn(1, 5, 8).double()
    turned = part(sequences(words.flip(1), [5])).values.flip(1)
    assert not torch.allclose(turned, part(sequences(words, [5])).values, atol=1e-3)


def test_where_it_looked_is_asked_for_later() -> None:
    """In float32 the answers come from a fused kernel; the weights are those of the reference."""
    part, words = encoder(), torch.randn(2, 5, 8)
    memory: Memory = part.float()(sequences(words, [5, 3]))
    before = memory.values.clone()
    weights = [look.weights.double() for _, look in memory.looks]
    assert torch.equal(memory.values, before)
    exact: Memory = part.double()(sequences(words.double(), [5, 3]))
    torch.testing.assert_close(memory.values.double(), exact.values, rtol=1e-4, atol=1e-4)
    for found, (_, look) in zip(weights, exact.looks, strict=True):
        assert found.shape == (2, 2, 5, 5)
        torch.testing.assert_close(found, look.weights, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_a_mask_shared_by_all_layers_hides_padding_that_holds_anything(causal: bool) -> None:
    """In float32, where the mask is prepared once for the fused kernel: states and gradients are those of sentences
    read alone, in float64, beside padding that is not finite and a row that is empty."""
    part, words, counts = encoder(), torch.randn(3, 5, 8), [5, 3, 0]
    part.causal = causal
    given = sequences(words, counts)
    filled = words.clone()
    filled[~given.mask] = float("nan")
    filled.requires_grad_()
    memory = part.float()(sequences(filled, counts))
    assert not memory.values[~given.mask].any()
    (gradient,) = torch.autograd.grad(memory.values.square().sum(), filled)
    assert not gradient[~given.mask].any()
    for row, length in enumerate(counts[:2]):
        alone = words[row : row + 1, :length].double().requires_grad_()
        read = part.double()(sequences(alone, [length]))
        (wanted,) = torch.autograd.grad(read.values.square().sum(), alone)
        torch.testing.assert_close(memory.values[row, :length].double(), read.values[0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(gradient[row, :length].double(), wanted[0], rtol=1e-3, atol=1e-3)
        for (_, look), (_, exact) in zip(part.float()(given).looks, read.looks, strict=True):
            torch.testing.assert_close(
                look.weights[row, :, :length, :length].double(), exact.weights[0], rtol=1e-4, atol=1e-4
            )


def test_the_size_is_as_said() -> None:
    """Four layers of 4·256² + 256 (attention), 2·256·1024 + 1024 + 256 (network) and 4·256 (norms), and a norm."""
    part = Transformer(256)
    expected = 4 * (4 * 256**2 + 256 + 2 * 256 * 1024 + 1024 + 256 + 4 * 256) + 2 * 256
    assert sum(p.numel() for p in part.parameters()) == expected == 3_156_480
    assert part.size == part.summary == 256


def test_what_it_reads_begins_with_as_much_voice_as_its_place() -> None:
    """Words as the house makes them (variance 1/width) come in with one near 1, whatever their width."""
    for width in [64, 256, 300]:
        part = Transformer(width, size=256, layers=0, dropout=0.0)
        words = torch.randn(4, 50, width) * width**-0.5
        x = words * part.scale if part.W_x is None else part.W_x(words * part.scale)
        assert 0.3 < float(x.detach().var()) < 1.4


def test_dropping_is_for_training() -> None:
    part, words = encoder(dropout=0.5), sequences(torch.randn(2, 4, 8).double(), [4, 2])
    assert torch.equal(part(words).values, part(words).values)
    part.train()
    memory: Memory = part(words)
    assert not torch.equal(memory.values, part(words).values)
    assert not memory.values[1, 2:].any()


def test_half_precision_is_near() -> None:
    part, words = encoder().float(), sequences(torch.randn(2, 6, 8), [6, 3])
    exact = part(words)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = part(words)
    assert half.values.dtype == torch.float32  # the sums and norms stay whole
    torch.testing.assert_close(half.values, exact.values, rtol=0.05, atol=0.1)
    torch.testing.assert_close(half.looks[0][1].weights.float(), exact.looks[0][1].weights, rtol=0.05, atol=0.02)


def test_any_weighing_may_be_asked_for() -> None:
    part = find.build("encode", {"name": "transformer", "size": 8, "layers": 1, "normalizer": "sparsemax"}, inputs=8)
    memory = part(sequences(10 * torch.randn(2, 6, 8), [6, 6]))
    assert (memory.looks[0][1].weights == 0).any()


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(RegardError, match="3 heads with size 256"):
        Transformer(256, heads=3)
    with pytest.raises(RegardError, match="one of sinusoid, learned, rotary"):
        find.build("encode", {"name": "transformer", "positions": "none"}, inputs=8)
    with pytest.raises(RegardError, match=r"11 tokens.*at most 10"):
        encoder(kind="learned")(sequences(torch.zeros(1, 11, 8).double(), [11]))


@every
def test_causal_states_know_nothing_of_what_follows(kind: Kind) -> None:
    """Each state is that of the sentence that ends there."""
    part = encoder(kind=kind)
    part.causal = True
    words = torch.randn(1, 4, 8).double()
    whole = part(sequences(words, [4]))
    for end in range(1, 5):
        alone = part(sequences(words[:, :end], [end]))
        torch.testing.assert_close(alone.values[0, -1], whole.values[0, end - 1])
    assert all(not look.weights.triu(1).any() for _, look in whole.looks)
