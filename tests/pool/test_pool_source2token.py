"""Source2token: every feature has weights of its own."""

import pytest
import torch

from regard.pool.source2token import Source2token
from regard.types import Gated, Memory


def test_by_hand() -> None:
    """With W₁ = W = I the scores are elu(h): 1 and 2 in the first feature, e⁻¹ − 1 and 0 in the second.

    First: weights 0.26894, 0.73106, v = 0.26894 + 2 · 0.73106. Second: weights 0.34703, 0.65297, v = −0.34703.
    """
    part = Source2token(inputs=2)
    with torch.no_grad():
        for layer in [part.W_1, part.W]:
            layer.weight.copy_(torch.eye(2))
            layer.bias.zero_()
    values = torch.tensor([[[1.0, -1.0], [2.0, 0.0], [50.0, 50.0]]])
    pooled = part(Memory(values, values, torch.tensor([[True, True, False]])))
    assert pooled.vector.flatten().tolist() == pytest.approx([1.73106, -0.34703], abs=1e-5)
    assert pooled.look is not None
    assert pooled.look.features
    assert pooled.look.weights.shape == (1, 1, 3, 2)
    assert pooled.look.by_key.flatten().tolist() == pytest.approx([0.307985, 0.692015, 0.0], abs=1e-5)


def test_it_is_the_published_equation() -> None:
    """`W elu(W₁ h + b₁) + b`, token by token and feature by feature."""
    part, values = Source2token(inputs=3).double(), torch.randn(1, 4, 3).double()
    W_1, W = part.W_1, part.W
    vector = torch.zeros(3).double()
    scores = [W.weight @ torch.nn.functional.elu(W_1.weight @ h + W_1.bias) + W.bias for h in values[0]]
    for feature in range(3):
        whole = sum(e[feature].exp() for e in scores)
        vector[feature] = sum(e[feature].exp() / whole * h[feature] for e, h in zip(scores, values[0], strict=True))
    torch.testing.assert_close(part(Memory(values, values)).vector[0], vector)


def test_gradients_against_finite_differences() -> None:
    """Of a sentence with padding, and of one that is all padding: zeros, and finite gradients."""
    part, values = Source2token(inputs=3).double(), torch.randn(2, 4, 3).double().requires_grad_()
    mask = torch.tensor([[True, True, True, False], [False] * 4])
    parameters = list(part.parameters())
    assert torch.autograd.gradcheck(lambda one, *_: part(Memory(one, one, mask)).vector, (values, *parameters))
    pooled = part(Memory(values, values, mask))
    assert not pooled.vector[1].any()
    assert pooled.look is not None
    assert not pooled.look.weights[1].any()
    (slope,) = torch.autograd.grad(pooled.vector.sum(), values)
    assert not slope[~mask].any()
    assert slope[0, :3].any()


def test_half_precision_stays_and_autocast_pools_in_float32() -> None:
    part, values = Source2token(inputs=4), torch.randn(2, 5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert part(Memory(values, values)).vector.dtype == torch.float32
    half = values.bfloat16()
    assert part.bfloat16()(Memory(half, half)).vector.dtype == torch.bfloat16


def test_dropout_is_for_training_only() -> None:
    """With everything dropped the scores are all b, and what is left is the mean of the states, themselves whole."""
    part, values = Source2token(inputs=3, dropout=1.0), torch.randn(2, 4, 3)
    torch.testing.assert_close(part(Memory(values, values)).vector, values.mean(1))
    whole = Source2token(inputs=3)
    whole.load_state_dict(part.state_dict())
    torch.testing.assert_close(part.eval()(Memory(values, values)).vector, whole(Memory(values, values)).vector)


def test_dropout_stands_before_each_layer() -> None:
    """With everything dropped neither layer is told anything."""
    part, told = Source2token(inputs=3, dropout=1.0), []
    for layer in [part.W_1, part.W]:
        layer.register_forward_pre_hook(lambda _, given: told.append(given[0].any().item()))
    part(Memory(torch.randn(2, 4, 3), torch.randn(2, 4, 3)))
    assert told == [False, False]


def opened(values: torch.Tensor, mask: torch.Tensor, gates: torch.Tensor) -> Memory:
    """As an encoder gives it: values with their gates, those that are not 0 in the mask."""
    scaled = values * gates.unsqueeze(-1)
    return Memory(scaled, scaled, mask & (gates > 0), gated=Gated(values, mask, gates))


def test_gates_by_hand() -> None:
    """Scores all alike: (1 · 1 + ½ · 3) / (1 + ½) = 5/3, and a gate g of a token 6 that was left out would change that
    by (6 − 5/3) / (1 + ½) = 26/9 for each g."""
    part = Source2token(inputs=1).double()
    torch.nn.init.zeros_(part.W.weight)
    values, mask = torch.tensor([[[1.0], [3.0], [6.0], [9.0]]]).double(), torch.tensor([[True, True, True, False]])
    gates = torch.tensor([[1.0, 0.5, 0.0, 1.0]]).double().requires_grad_()
    pooled = part(opened(values, mask, gates))
    assert pooled.vector.item() == pytest.approx(5 / 3)
    (slope,) = torch.autograd.grad(pooled.vector.sum(), gates)
    assert slope[0, 2].item() == pytest.approx(26 / 9)
    assert slope[0, 3].item() == 0  # padding
    torch.testing.assert_close(pooled.look.weights[0, 0, :, 0], torch.tensor([2 / 3, 1 / 3, 0, 0]).double())


def test_gates_of_0_and_1_are_a_mask() -> None:
    part, values = Source2token(inputs=4).double(), torch.randn(3, 5, 4).double()
    mask = torch.arange(5) < torch.tensor([5, 3, 2])[:, None]
    chosen = mask & torch.tensor([[True, False, True, False, True], [False, True] + [True] * 3, [False] * 5])
    gates = chosen.double().requires_grad_()
    pooled, wanted = part(opened(values, mask, gates)), part(Memory(values, values, chosen))
    torch.testing.assert_close(pooled.vector, wanted.vector)
    torch.testing.assert_close(pooled.look.weights, wanted.look.weights)
    assert torch.autograd.grad(pooled.vector.sum(), gates)[0].isfinite().all()  # also where none is open
    soft = (0.2 + 0.6 * torch.rand(3, 5).double()).requires_grad_()
    assert torch.autograd.gradcheck(lambda gates: part(opened(values, mask, gates)).vector, soft)


def test_gates_of_sequences_without_a_step() -> None:
    part, nothing = Source2token(inputs=4), torch.zeros(2, 0, 4)
    there = torch.zeros(2, 0, dtype=torch.bool)
    assert not part(opened(nothing, there, torch.zeros(2, 0))).vector.any()
