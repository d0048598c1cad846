"""A recurrent language model: numbers by hand, its dropouts, and what makes no model."""

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.predict.language.recurrent import Recurrent, locked
from regard.types import Sequences

pytestmark = pytest.mark.usefixtures("one_thread")

START, END = 2, 3
attentions: dict[str, Any] = {
    "none": None,
    "additive": {"score": {"name": "additive", "hidden": 4}},
    "heads": {"score": "scaled_dot", "heads": 2},
    "features": {"score": "feature_wise"},
}
kinds = pytest.mark.parametrize("look", attentions)
cells = pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
tokens = torch.tensor([[3, 5, 4, 6, 5], [3, 4, 4, 0, 6]])


def small(look: str = "none", cell: str = "lstm", vocab: int = 7, **options: Any) -> Recurrent:
    torch.manual_seed(4)
    model = Recurrent(vocab, attentions[look], cell, hidden=6, **options).double().eval()  # type: ignore[arg-type]
    with torch.no_grad():  # sharper than at the start of training, so that answers differ
        for parameter in model.parameters():
            parameter *= 2
        model.bias.normal_()
    return model


def told(model: Recurrent, rows: list[list[int]]) -> Tensor:
    return model.logits(model.states(Sequences.pad(rows).values)[1])


def test_by_hand() -> None:
    """One Elman unit: h_1 = tanh(1), h_2 = tanh(2 + h_1 / 2); the logits are E h + b."""
    model = Recurrent(3, None, "elman", hidden=1, layers=1).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[0.0], [1.0], [2.0]]))
        model.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
        for name, value in (("weight_ih_l0", 1.0), ("weight_hh_l0", 0.5), ("bias_ih_l0", 0.0), ("bias_hh_l0", 0.0)):
            getattr(model.rnn[0], name).fill_(value)
    look, r = model.states(torch.tensor([[1, 2]]))
    h_1 = math.tanh(1)
    h_2 = math.tanh(2 + h_1 / 2)
    assert look is None
    wanted = torch.tensor([[[0.1, 0.2 + h, 0.3 + 2 * h] for h in (h_1, h_2)]])
    torch.testing.assert_close(model.logits(r), wanted)


def test_the_look_back_by_hand() -> None:
    """With all scores equal each step sees the mean of the states so far: r = tanh(W [mean; h])."""
    model = small("additive")
    assert model.attention is not None
    assert model.readout is not None
    with torch.no_grad():
        model.attention.score.w.zero_()
    plain = small("none")
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if name in plain.state_dict()})
    _, h = plain.states(tokens)
    means = h.cumsum(1) / torch.arange(1, 6)[:, None]
    look, r = model.states(tokens)
    assert look is not None
    torch.testing.assert_close(r, torch.tanh(model.readout(torch.cat([means, h], dim=-1))))
    torch.testing.assert_close(look.weights[0, 2], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0, 0]).double())


@pytest.mark.parametrize(("layers", "size"), [(1, 7 * 6 + 7 + 4 * 6 * 14), (2, 7 * 6 + 7 + 2 * 4 * 6 * 14)])
def test_both_ends_share_one_matrix(layers: int, size: int) -> None:
    """Embeddings 7 × 6, their bias as outputs 7, and LSTM layers: four gates of 6 with 6 + 6 inputs and 2 biases."""
    assert sum(p.numel() for p in small(layers=layers).parameters()) == size


def test_one_mask_for_all_steps() -> None:
    x = torch.ones(3, 5, 400)
    found = locked(x, 0.25, True)
    assert (found == found[:, :1]).all()
    assert found.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert not torch.equal(found[0], found[1])
    assert found.mean() == pytest.approx(1.0, abs=0.1)
    assert locked(x, 0.25, False) is x
    assert locked(x, 0.0, True) is x


@pytest.mark.parametrize("place", ["input_dropout", "hidden_dropout", "output_dropout"])
def test_each_dropout_acts_in_training_alone(place: str) -> None:
    rates = {"input_dropout": 0.0, "hidden_dropout": 0.0, "output_dropout": 0.0, place: 0.5}
    model = small(**rates)
    quiet = model.states(tokens)[1]
    torch.testing.assert_close(model.states(tokens)[1], quiet)
    model.train()
    assert not torch.allclose(model.states(tokens)[1], quiet)
    if place == "output_dropout":  # nothing before it is touched
        found = model.states(tokens)[1]
        torch.testing.assert_close(found[found != 0], 2 * quiet[found != 0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"input_dropout": 1.0}, "input_dropout: got 1.0"),
        ({"output_dropout": -0.1}, "output_dropout: got -0.1"),
        ({"layers": 0}, "layers: got 0"),
        ({"attention": {"bias": ["markov"]}}, "keeps state"),
    ],
)
def test_what_makes_no_model(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        Recurrent(**{"vocab": 7, "attention": None, **options})


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_weights_left_out_are_those_from_state_to_state(cell: str) -> None:
    """The same as a network whose matrices were masked beforehand; nothing is left out in use."""
    rates = {"input_dropout": 0.0, "hidden_dropout": 0.0, "output_dropout": 0.0}
    model = Recurrent(9, None, cell=cell, hidden=4, layers=2, weight_dropout=0.5, **rates).double()
    tokens = torch.tensor([[1, 2, 3, 4, 5], [5, 1, 1, 2, 8]])
    torch.manual_seed(3)
    _, once = model.states(tokens)
    once.sum().backward()
    masked = copy.deepcopy(model).eval()
    torch.manual_seed(3)
    for layer, own in zip(masked.rnn, model.rnn, strict=True):
        mask = torch.nn.functional.dropout(torch.ones_like(layer.weight_hh_l0), 0.5)
        assert set(mask.unique().tolist()) == {0.0, 2.0}
        assert not own.weight_hh_l0.grad[mask == 0].any()
        layer.weight_hh_l0.data *= mask
    torch.testing.assert_close(once, masked.states(tokens)[1])
    torch.testing.assert_close(model.eval().states(tokens)[1], model.states(tokens)[1], rtol=0, atol=0)
    assert not torch.allclose(model.states(tokens)[1], once)


def test_a_word_is_left_out_wherever_it_stands() -> None:
    model = Recurrent(9, None, hidden=4, embedding_dropout=0.5)
    tokens = torch.arange(9).repeat(2, 3)
    E, words = model.embedding.weight, model._words(tokens)
    kept = (words.detach() != 0).any(-1)
    assert torch.equal(kept[0, :9], kept[1, 9:18])
    assert 0 < int(kept[0, :9].sum()) < 9
    torch.testing.assert_close(words[kept], 2 * E[tokens[kept]])
    torch.testing.assert_close(model.eval()._words(tokens), E[tokens])


@kinds
def test_what_was_read_knows_no_padding(look: str) -> None:
    model, rows = small(look), [[3, 5, 4, 6, 5], [3, 4], [3]]
    memory = model.read(Sequences.pad(rows))
    assert memory.summary is not None
    for number, row in enumerate(rows):
        alone = model.read(Sequences.pad([row]))
        torch.testing.assert_close(memory.summary[number], alone.summary[0])
        torch.testing.assert_close(memory.keys[number, : len(row)], alone.keys[0])
        assert not memory.keys[number, len(row) :].any()


def test_embeddings_begin_with_a_length_of_about_one() -> None:
    """The logits are products with them: longer ones would begin sure of something."""
    torch.manual_seed(1)
    assert 0.9 < Recurrent(200, None, hidden=64).embedding.weight.norm(dim=-1).mean() < 1.1


@kinds
def test_what_was_read_beside_longer_texts_goes_on_as_alone(look: str) -> None:
    model, rows = small(look), [[3, 5, 4, 6, 5], [3, 4], [3]]
    token = torch.tensor([[4]] * len(rows))
    state = model.start(model.read(Sequences.pad(rows)))
    state, _, first = model.step(state, token)
    _, _, second = model.step(state, token)
    for number, row in enumerate(rows):
        alone = told(model, [[*row, 4]])
        torch.testing.assert_close(first[number, 0], alone[0, -2])
        torch.testing.assert_close(second[number, 0], alone[0, -1])
