"""Classify: a hidden layer, and a highway where asked for."""

from math import exp, log, tanh
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch.nn.functional import cross_entropy

from regard.errors import RegardError
from regard.find import call
from regard.predict.classify import ClassifyHead

acts = pytest.mark.parametrize("act", ["relu", "elu", "tanh"])
either = pytest.mark.parametrize("highway", [False, True])


def by_hand(**options: Any) -> ClassifyHead:
    """One number in: W₁ = (1, −1), b₁ = (0, 0.5), W₂ = [[1, 2], [3, −1]], b₂ = (0, 1)."""
    part = ClassifyHead(inputs=1, labels=2, hidden=2, **options)
    with torch.no_grad():
        part.W_1.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        part.W_1.bias.copy_(torch.tensor([0.0, 0.5]))
        part.W_2.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, -1.0]]))
        part.W_2.bias.copy_(torch.tensor([0.0, 1.0]))
        if part.W_h is not None and part.W_g is not None:
            part.W_h.weight.copy_(2 * torch.eye(2))
            part.W_g.weight.zero_()
            part.W_h.bias.zero_()
            part.W_g.bias.zero_()
    return part


def test_by_hand() -> None:
    """relu(2, −1.5) = (2, 0), so the logits are 2 and 3 · 2 + 1."""
    assert by_hand()(torch.tensor([[2.0]])).tolist() == [[2.0, 7.0]]
    one, other = tanh(2), tanh(-1.5)
    found = by_hand(act="tanh")(torch.tensor([[2.0]]))[0].tolist()
    assert found == pytest.approx([one + 2 * other, 3 * one - other + 1])


def test_the_highway_by_hand() -> None:
    """Half open (σ(0) = 1/2) between h = (2, 0) and relu(2 h) = (4, 0): h becomes (3, 0), the logits 3 and 10."""
    assert by_hand(highway=True)(torch.tensor([[2.0]])).tolist() == [[3.0, 10.0]]


@pytest.mark.parametrize(("bias", "logits"), [(-99.0, [2.0, 7.0]), (99.0, [4.0, 13.0])])
def test_an_open_gate_lets_what_is_new_through(bias: float, logits: list[float]) -> None:
    """Shut, h = (2, 0) stays; open, it becomes relu(2 h) = (4, 0)."""
    part = by_hand(highway=True)
    assert part.W_g is not None
    torch.nn.init.constant_(part.W_g.bias, bias)
    assert part(torch.tensor([[2.0]])).tolist() == [logits]


@acts
@either
def test_gradients_are_right(act: str, highway: bool) -> None:
    part = ClassifyHead(3, 2, hidden=4, act=act, highway=highway).double()  # type: ignore[arg-type]
    vector = torch.randn(2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v, *_: part(v), (vector, *part.parameters()))


@acts
@either
def test_saved_alone_and_in_half_precision_it_is_the_same(act: str, highway: bool) -> None:
    part, other = (ClassifyHead(3, 2, hidden=4, act=act, highway=highway).eval() for _ in range(2))  # type: ignore[arg-type]
    other.load_state_dict(load(save(part.state_dict())))
    vectors = torch.randn(5, 3)
    assert torch.equal(part(vectors), other(vectors))
    torch.testing.assert_close(part(vectors[2:3])[0], part(vectors)[2])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved = part(vectors)
    assert halved.dtype == torch.bfloat16
    torch.testing.assert_close(halved.float(), part(vectors), atol=0.05, rtol=0.05)


def test_dropout_is_for_training_only() -> None:
    """With everything dropped only b₂ is left."""
    part = by_hand(dropout=1.0)
    assert part(torch.tensor([[2.0]])).tolist() == [[0.0, 1.0]]
    assert part.eval()(torch.tensor([[2.0]])).tolist() == [[2.0, 7.0]]


def test_dropout_stands_before_each_layer() -> None:
    """With everything dropped neither layer is told anything."""
    part, told = by_hand(dropout=1.0), []
    for layer in [part.W_1, part.W_2]:
        layer.register_forward_pre_hook(lambda _, given: told.append(given[0].any().item()))
    part(torch.tensor([[2.0]]))
    assert told == [False, False]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hidden": -1}, "hidden: got -1; expected a whole number from 0 to"),
        ({"act": "relo"}, "act: got 'relo'; expected one of relu, elu, tanh"),
        ({"higway": True}, "did you mean 'highway'"),
    ],
)
def test_a_wrong_option_is_explained(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        call(ClassifyHead, options, inputs=3, labels=2)


def test_the_loss_by_hand() -> None:
    """Logits ln of 2, 1, 1 are 0.5, 0.25, 0.25: the loss of the second label is ln 4, of the first ln 2."""
    logits = torch.tensor([[log(2), 0.0, 0.0]] * 2)
    assert ClassifyHead(1, 3).loss(logits, torch.tensor([1, 0])).tolist() == pytest.approx([log(4), log(2)])


def test_smoothing_is_for_training_only() -> None:
    part, logits, target = ClassifyHead(1, 3, label_smoothing=0.3), torch.randn(4, 3), torch.tensor([0, 2, 1, 1])
    smoothed = cross_entropy(logits, target, reduction="none", label_smoothing=0.3)
    torch.testing.assert_close(part.loss(logits, target), smoothed)
    torch.testing.assert_close(part.eval().loss(logits, target), cross_entropy(logits, target, reduction="none"))


def test_every_label_is_answered_the_likeliest_first() -> None:
    logits = torch.tensor([[log(2), 0.0, log(5)], [3.0, 1.0, 2.0]])
    [one, other] = ClassifyHead(1, 3).answers(logits, [1, 1], ["maybe", "no", "yes"])
    assert [one.text, *(more.text for more in one.others)] == ["yes", "maybe", "no"]
    assert [exp(p.log_prob or 0.0) for p in (one, *one.others)] == pytest.approx([5 / 8, 2 / 8, 1 / 8])
    assert [other.text, *(more.text for more in other.others)] == ["maybe", "yes", "no"]


def test_without_a_hidden_layer() -> None:
    """W₂ alone: 2 · (1, 3) + (0, 1)."""
    part = ClassifyHead(inputs=1, labels=2, hidden=0)
    with torch.no_grad():
        part.W_2.weight.copy_(torch.tensor([[1.0], [3.0]]))
        part.W_2.bias.copy_(torch.tensor([0.0, 1.0]))
    assert part(torch.tensor([[2.0]])).tolist() == [[2.0, 7.0]]
    with pytest.raises(RegardError, match="highway without a hidden layer"):
        ClassifyHead(inputs=1, labels=2, hidden=0, highway=True)
