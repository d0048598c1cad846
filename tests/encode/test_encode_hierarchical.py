"""Hierarchical encoder: Gehring's layers, learned positions, the published size."""

from math import exp, sqrt

import pytest
import torch
from torch import Tensor

from regard import find
from regard.encode.hierarchical import Hierarchical
from regard.errors import RegardError
from regard.predict.classify import ClassifyHead
from regard.predict.match.difference import Difference
from regard.types import Sequences

lengths = [4, 1, 6]


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def by_hand(part: Hierarchical, words: Tensor) -> Tensor:
    """The states of one sentence, layer by layer and word by word."""
    if part.p is not None:
        last = len(part.p.weight) - 1
        words = torch.stack([word + part.p.weight[min(i, last)] for i, word in enumerate(words)])
    h = words if part.W_x is None else words @ part.W_x.weight.T + part.W_x.bias
    for W in part.W:
        width, above = W.weight.shape[-1], []
        for i in range(len(h)):
            total = W.bias
            for k in range(width):
                j = i - (width - 1) // 2 + k
                if 0 <= j < len(h):
                    total = total + W.weight[:, :, k] @ h[j]
            A, B = total.chunk(2)
            above.append((h[i] + A * torch.sigmoid(B)) * sqrt(0.5))
        h = torch.stack(above)
    return h


def test_worked_by_hand() -> None:
    part = Hierarchical(1, hidden=1, layers=1, kernel=3, positions=2).double()
    with torch.no_grad():
        part.p.weight[:] = torch.tensor([[0.5], [-0.5]])  # type: ignore[union-attr]
        part.W[0].weight[:] = torch.tensor([[[1.0, 2.0, 3.0]], [[0.0, 1.0, 0.0]]])
        part.W[0].bias[:] = torch.tensor([0.0, 1.0])
    memory = part(sequences(torch.tensor([[[1.0], [2.0], [3.0]]]).double(), [3]))
    h = [1.5, 1.5, 2.5]  # the third has no position of its own, and takes the last
    A = [2 * 1.5 + 3 * 1.5, 1.5 + 2 * 1.5 + 3 * 2.5, 1.5 + 2 * 2.5]  # 7.5, 12, 6.5
    expected = [sqrt(0.5) * (h[i] + A[i] / (1 + exp(-(h[i] + 1)))) for i in range(3)]
    assert memory.keys.flatten().tolist() == pytest.approx(expected, abs=1e-12)
    assert memory.keys.flatten().tolist() == pytest.approx([5.96166, 8.90226, 6.22924], abs=1e-5)
    assert memory.summary.item() == pytest.approx(sum(expected) / 3, abs=1e-12)


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize(("inputs", "positions"), [(4, 512), (3, 3), (3, 0)])
def test_it_is_the_published_layers(inputs: int, positions: int, kernel: int) -> None:
    part = Hierarchical(inputs, hidden=4, layers=3, kernel=kernel, positions=positions).double()
    values = torch.randn(3, 7, inputs).double()
    with torch.no_grad():
        for W in part.W:
            W.bias.normal_()
    memory = part(sequences(values, lengths))
    assert memory.keys is memory.values
    assert memory.keys.shape == (3, 7, 4)
    assert part.size == part.summary == 4
    for row, length in enumerate(lengths):
        states = by_hand(part, values[row, :length])
        torch.testing.assert_close(memory.keys[row, :length], states)
        torch.testing.assert_close(memory.summary[row], states.mean(0))
        assert not memory.keys[row, length:].any()


def test_each_layer_sees_further() -> None:
    for layers in [1, 2]:
        part, values = Hierarchical(4, 4, layers, kernel=3).double(), torch.randn(1, 8, 4).double().requires_grad_()
        states = part(sequences(values, [8])).keys[0]
        for i in range(8):
            (gradient,) = torch.autograd.grad(states[i].sum(), values, retain_graph=True)
            assert gradient[0].any(-1).tolist() == [abs(i - j) <= layers for j in range(8)]


def test_places_are_told_apart() -> None:
    words = torch.ones(1, 9, 4)
    states = Hierarchical(4, 4, layers=1, kernel=3)(sequences(words, [9])).keys[0]
    assert not torch.allclose(states[3], states[4])
    states = Hierarchical(4, 4, layers=1, kernel=3, positions=0)(sequences(words, [9])).keys[0]
    assert torch.allclose(states[3], states[4])


def test_beyond_the_last_position_all_share_it() -> None:
    states = Hierarchical(4, 4, layers=1, kernel=3, positions=3)(sequences(torch.ones(1, 9, 4), [9])).keys[0]
    assert not torch.allclose(states[1], states[2])
    assert torch.allclose(states[4], states[5])


def test_the_layers_keep_the_spread() -> None:
    """Begun as section 3.5 has it, a state is about as spread as the words were (dropout makes up for its share)."""
    for chance in [0.0, 0.4]:
        part = Hierarchical(64, 64, layers=3, positions=0, dropout=chance)
        states = part(sequences(torch.randn(8, 40, 64), [40] * 8)).keys[:, 10:30]
        assert 0.8 < states.std().item() < 1.5


@pytest.mark.parametrize(("counts", "width"), [([3, 0], 3), ([0, 0], 2), ([0, 0], 0)])
def test_an_empty_sequence_is_zeros(counts: list[int], width: int) -> None:
    part, values = Hierarchical(3, hidden=4, layers=2).double(), torch.randn(2, width, 3).double().requires_grad_()
    memory = part(sequences(values, counts))
    assert memory.keys.shape == (2, width, 4)
    assert not memory.keys[1].any()
    assert not memory.summary[1].any()
    gradients = torch.autograd.grad(memory.keys.sum() + memory.summary.sum(), [values, *part.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][1].any()


def test_padding_may_hold_anything() -> None:
    part, given = Hierarchical(3, hidden=4), sequences(torch.randn(3, 7, 3), lengths)
    filled = given.values.masked_fill(~given.mask.unsqueeze(-1), float("nan"))
    assert torch.equal(part(Sequences(filled, given.mask, given.lengths)).keys, part(given).keys)


def count(part: Hierarchical) -> int:
    pool = find.build("pool", part.pool, inputs=part.size, summary=part.summary)
    whole = [part, pool, ClassifyHead(Difference(pool.size).size, 3)]
    return sum(p.numel() for module in whole for p in module.parameters())


def test_it_is_as_large_as_published() -> None:
    """3.4m on SNLI: 3 × 5 × 300 × 600 and 512 positions, source2token, `[u; v; u − v; u ⊙ v]` → 300 → 3."""
    assert Hierarchical.pool == "source2token"
    assert count(Hierarchical(300)) == 2_701_800 + 153_600 + 180_600 + 361_203
    assert count(Hierarchical(300)) == pytest.approx(3.4e6, rel=0.15)
    assert count(Hierarchical(300, positions=0)) == pytest.approx(3.4e6, rel=0.15)


def test_dropout_is_before_each_layer_in_training_only() -> None:
    """With everything dropped only the residual is left."""
    part, given = Hierarchical(4, 4, layers=2, positions=0, dropout=1.0), sequences(torch.randn(3, 7, 4), lengths)
    torch.testing.assert_close(part(given).keys[given.mask], given.values[given.mask] / 2)
    part = Hierarchical(4, 4, layers=2, positions=0, dropout=0.5)
    assert not torch.equal(part(given).keys, part(given).keys)
    part.eval()
    assert torch.equal(part(given).keys, part(given).keys)


def test_found_by_name_with_its_options() -> None:
    part = find.build("encode", {"name": "hierarchical", "hidden": 6, "layers": 2, "kernel": 3}, inputs=4)
    assert isinstance(part, Hierarchical)
    assert [tuple(W.weight.shape) for W in part.W] == [(12, 6, 3)] * 2


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"layers": 0}, "layers: got 0; expected a whole number from 1"),
        ({"kernel": 0}, "kernel: got 0; expected a whole number from 1"),
        ({"positions": -1}, "positions: got -1; expected a whole number from 0"),
        ({"kernels": 3}, "did you mean 'kernel'"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        find.build("encode", {"name": "hierarchical", **option}, inputs=4)
