"""Tag: every token for itself."""

from math import log

import pytest
import torch
from safetensors.torch import load, save

from regard.errors import RegardError
from regard.find import call
from regard.predict.tag import NOTHING, TagHead
from regard.types import Sequences


def test_by_hand() -> None:
    """One linear layer: W₂ = (2, −1), b₂ = (0, 3)."""
    part = TagHead(inputs=1, labels=2)
    with torch.no_grad():
        part.W_2.weight.copy_(torch.tensor([[2.0], [-1.0]]))
        part.W_2.bias.copy_(torch.tensor([0.0, 3.0]))
    assert part(torch.tensor([[[1.0], [-4.0]]])).tolist() == [[[2.0, 2.0], [-8.0, 7.0]]]


def test_with_a_hidden_layer_by_hand() -> None:
    """W₁ = 3, relu, then the same: relu(3) = 3 and relu(−12) = 0."""
    part = TagHead(inputs=1, labels=2, hidden=1)
    assert part.W_1 is not None
    with torch.no_grad():
        part.W_1.weight.fill_(3.0)
        part.W_1.bias.zero_()
        part.W_2.weight.copy_(torch.tensor([[2.0], [-1.0]]))
        part.W_2.bias.copy_(torch.tensor([0.0, 3.0]))
    assert part(torch.tensor([[[1.0], [-4.0]]])).tolist() == [[[6.0, 0.0], [0.0, 3.0]]]


@pytest.mark.parametrize("hidden", [0, 4])
def test_a_token_does_not_know_its_neighbours(hidden: int) -> None:
    """Nor does what stands in the padding reach another token, be it no number at all."""
    part, states = TagHead(inputs=3, labels=5, hidden=hidden), torch.randn(2, 4, 3)
    torch.testing.assert_close(part(states)[1, 2], part(states[1:, 2:3])[0, 0])
    broken = states.clone()
    broken[0, 3] = float("nan")
    assert torch.equal(part(broken)[:, :3], part(states)[:, :3])
    assert part(torch.zeros(2, 0, 3)).shape == (2, 0, 5)


@pytest.mark.parametrize("act", ["relu", "elu", "tanh"])
@pytest.mark.parametrize("hidden", [0, 4])
def test_gradients_are_right_and_it_is_saved_whole(act: str, hidden: int) -> None:
    part, other = (TagHead(3, 2, hidden=hidden, act=act).double() for _ in range(2))  # type: ignore[arg-type]
    states = torch.randn(2, 2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda s, *_: part(s), (states, *part.parameters()))
    other.load_state_dict(load(save(part.state_dict())))
    assert torch.equal(other(states), part(states))


def test_it_works_in_half_precision() -> None:
    part, states = TagHead(3, 2, hidden=4), torch.randn(2, 2, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = part(states)
    torch.testing.assert_close(found.float(), part(states), atol=0.05, rtol=0.05)


def test_dropout_is_for_training_only() -> None:
    part, states = TagHead(3, 2, hidden=4, dropout=1.0), torch.randn(1, 2, 3)
    assert torch.equal(part(states), part.W_2.bias.expand(1, 2, 2))
    assert not torch.equal(part.eval()(states), part.W_2.bias.expand(1, 2, 2))


def test_dropout_stands_before_each_layer() -> None:
    """With everything dropped neither layer is told anything."""
    part, told = TagHead(3, 2, hidden=4, dropout=1.0), []
    for layer in [part.W_1, part.W_2]:
        layer.register_forward_pre_hook(lambda _, given: told.append(given[0].any().item()))
    part(torch.randn(1, 2, 3))
    assert told == [False, False]


def test_a_wrong_option_is_explained() -> None:
    with pytest.raises(RegardError, match="hidden: got -1; expected a whole number from 0 to"):
        call(TagHead, {"hidden": -1}, inputs=3, labels=2)


def test_the_loss_and_the_answers_by_hand() -> None:
    """Of the first sentence ½ · ¼ is right, of the second ¾; its padding counts for nothing."""
    part, target = TagHead(1, 2), Sequences.pad([[0, 1], [1]], fill=NOTHING)
    logits = torch.tensor([[[0.5, 0.5], [0.75, 0.25]], [[0.25, 0.75], [0.9, 0.1]]]).log()
    assert part.loss(logits, target).tolist() == pytest.approx([log(8), log(4 / 3)])
    [one, other] = part.answers(logits, [2, 1], ["A", "B"])
    assert (one.text, other.text) == ("A A", "B")
    assert (one.log_prob, other.log_prob) == (pytest.approx(log(0.5 * 0.75)), pytest.approx(log(0.75)))
    assert one.log_prob_per_token == pytest.approx(log(0.5 * 0.75) / 2)
    assert other.log_prob_per_token == other.log_prob
