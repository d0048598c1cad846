"""A Transformer as a language model: its numbers by loops, whose looks are shown, and what makes no model."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.predict.language.transformer import Transformer
from regard.types import Sequences

tokens = torch.tensor([[3, 5, 4, 6, 5]])


def made(**options: Any) -> Transformer:
    torch.manual_seed(4)
    return Transformer(7, None, **{"size": 4, "heads": 2, "layers": 1, "ffn": 6, **options}).double().eval()


def norm(x: Tensor, part: Any) -> Tensor:
    centred = x - x.mean()
    return centred / (centred.square().mean() + part.eps).sqrt() * part.weight + part.bias


def test_by_loops() -> None:
    """One block over sinusoids: each token asks itself and those before it under two heads, then thinks."""
    model = made(positions="sinusoid")
    block, E = model.blocks[0], model.embedding.weight
    places = [[math.sin(i), math.cos(i), math.sin(i / 100), math.cos(i / 100)] for i in range(5)]
    x = [2 * E[t] + torch.tensor(place).double() for t, place in zip(tokens[0], places, strict=True)]
    q, k, v = zip(*((block.attending.W_qkv.weight @ norm(one, block.norm_attend)).chunk(3) for one in x), strict=True)
    around = block.attending.attention.heads
    for at in range(5):
        seen = []
        for head in (slice(0, 2), slice(2, 4)):
            scores = torch.stack([q[at][head] @ k[i][head] / math.sqrt(2) for i in range(at + 1)])
            weights = scores.softmax(0)
            seen.append(sum(weight * v[i][head] for i, weight in enumerate(weights)))
        y = x[at] + around.W_o(torch.cat(seen))
        y = y + block.W_2(torch.relu(block.W_1(norm(y, block.norm_think))))
        look, r = model.states(tokens)
        torch.testing.assert_close(model.logits(r)[0, at], E @ norm(y, model.norm))
        torch.testing.assert_close(look.weights[0, 1, at, : at + 1], weights)


def test_whose_looks_are_shown() -> None:
    model = made(layers=3)
    first, last = (model.showing(str(layer)).states(tokens)[0].weights for layer in (1, 3))
    view = model.showing("all")
    every, r = view.states(tokens)
    assert every.weights.shape == (1, 6, 5, 5)
    torch.testing.assert_close(every.weights[:, :2], first)
    torch.testing.assert_close(every.weights[:, 4:], last)
    assert view.head_names[:3] == ("layer 1 head 1", "layer 1 head 2", "layer 2 head 1")
    assert torch.equal(model.states(tokens)[1], r)
    assert model.head_names == ()


def test_learned_places_end() -> None:
    model = made(positions="learned", max_length=4)
    with pytest.raises(RegardError, match="a sequence of 5 tokens"):
        model.states(tokens)
    state = model.start(model.read(Sequences.pad([[3, 5, 4], [3]])))
    for _ in range(2):
        state, _, _ = model.step(state, torch.full((2, 1), 5))
    with pytest.raises(RegardError, match="a sequence of 5 tokens"):
        model.step(state, torch.full((2, 1), 5))


def test_one_matrix_serves_both_ends() -> None:
    """Embeddings 7 × 4; W_qkv 12 × 4, W_o 4 × 4 + 4, a network of 4 × 6 + 6 and 6 × 4 + 4, three norms of 8."""
    assert sum(p.numel() for p in made().parameters()) == 28 + 48 + 20 + 30 + 28 + 3 * 8


def test_dropout_acts_in_training_alone() -> None:
    model = made(dropout=0.5)
    quiet = model.states(tokens)[1]
    assert torch.equal(model.states(tokens)[1], quiet)
    assert not torch.equal(model.train().states(tokens)[1], quiet)


@pytest.mark.parametrize(
    ("attention", "options", "said"),
    [
        ({"bias": ["relative_position"]}, {}, "attention.bias"),
        ({"heads": 2}, {}, "network.heads"),
        (None, {"layers": 0}, "layers: got 0"),
        (None, {"look": 4}, "look=4"),
        (None, {"dropout": 2.0}, "dropout: got 2.0"),
        (None, {"heads": 4, "positions": "rotary"}, "even width"),
    ],
)
def test_what_makes_no_model(attention: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        Transformer(7, attention, **{"size": 4, "heads": 2, **options})
