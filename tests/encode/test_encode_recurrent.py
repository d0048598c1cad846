"""Recurrent encoder: the published equations, each sequence read to its own length and no further."""

from math import tanh

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from regard import find
from regard.encode.recurrent import Recurrent
from regard.errors import RegardError
from regard.types import Sequences

cells = ["elman", "lstm", "gru"]
lengths = [4, 1, 3]


def sequences(values: Tensor, lengths: list[int]) -> Sequences:
    counts = torch.tensor(lengths)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < counts[:, None], counts)


def encoder(cell: str = "gru", layers: int = 1, bidirectional: bool = True) -> Recurrent:
    return Recurrent(3, cell=cell, hidden=2, layers=layers, bidirectional=bidirectional).double().eval()  # type: ignore[arg-type]


def read(cell: str, words: Tensor, weights: list[Tensor]) -> list[Tensor]:
    """The states of one layer in one direction, equation by equation."""
    W_x, W_s, b_x, b_s = weights
    size = W_s.shape[1]
    s = c = torch.zeros(size, dtype=words.dtype)
    states = []
    for x in words:
        if cell == "elman":
            s = torch.tanh(W_x @ x + b_x + W_s @ s + b_s)
        elif cell == "lstm":
            i, f, g, o = (W_x @ x + b_x + W_s @ s + b_s).split(size)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            s = torch.sigmoid(o) * torch.tanh(c)
        else:
            x_r, x_z, x_n = (W_x @ x + b_x).split(size)
            s_r, s_z, s_n = (W_s @ s + b_s).split(size)
            r, z = torch.sigmoid(x_r + s_r), torch.sigmoid(x_z + s_z)
            s = (1 - z) * torch.tanh(x_n + r * s_n) + z * s
        states.append(s)
    return states


def by_hand(part: Recurrent, cell: str, words: Tensor) -> tuple[Tensor, Tensor]:
    """States and summary of one sequence that has no padding."""
    named = dict(part.rnn.named_parameters())
    for layer in range(part.rnn.num_layers):
        kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
        ahead = read(cell, words, [named[f"{kind}_l{layer}"] for kind in kinds])
        if part.bidirectional:
            back = read(cell, words.flip(0), [named[f"{kind}_l{layer}_reverse"] for kind in kinds])
            words = torch.stack([torch.cat(pair) for pair in zip(ahead, reversed(back), strict=True)])
            summary = torch.cat([ahead[-1], back[-1]])
        else:
            words, summary = torch.stack(ahead), ahead[-1]
    return words, summary


def test_elman_worked_by_hand() -> None:
    part = Recurrent(1, cell="elman", hidden=1, bidirectional=False).double()
    with torch.no_grad():
        for name, number in {"weight_ih": 0.5, "weight_hh": 0.25, "bias_ih": 0.1, "bias_hh": 0.0}.items():
            getattr(part.rnn, f"{name}_l0").fill_(number)
    memory = part(sequences(torch.tensor([[[2.0], [-1.0]]]).double(), [2]))
    first = tanh(0.5 * 2 + 0.1)  # tanh 1.1 = 0.80050
    second = tanh(0.25 * first + 0.5 * -1 + 0.1)  # tanh(0.20012 − 0.5 + 0.1) = tanh −0.19988 = −0.19725
    assert memory.keys.flatten().tolist() == pytest.approx([first, second], abs=1e-12)
    assert memory.keys.flatten().tolist() == pytest.approx([0.80050, -0.19725], abs=1e-5)
    assert memory.summary.item() == pytest.approx(second, abs=1e-12)  # type: ignore[union-attr]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", cells)
def test_it_is_the_published_equations(cell: str, layers: int, bidirectional: bool) -> None:
    part, values = encoder(cell, layers, bidirectional), torch.randn(3, 5, 3).double()
    memory = part(sequences(values, lengths))
    assert memory.keys is memory.values
    assert memory.keys.shape == (3, 5, part.size)
    assert memory.summary.shape == (3, part.summary)
    assert part.size == part.summary == (4 if bidirectional else 2)
    for row, length in enumerate(lengths):
        states, summary = by_hand(part, cell, values[row, :length])
        torch.testing.assert_close(memory.keys[row, :length], states)
        torch.testing.assert_close(memory.summary[row], summary)
        assert not memory.keys[row, length:].any()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", cells)
def test_the_summary_is_the_last_state_of_each_direction(cell: str, layers: int, bidirectional: bool) -> None:
    """The last a direction reads: forwards the sequence's own last word, backwards its first."""
    memory = encoder(cell, layers, bidirectional)(sequences(torch.randn(3, 5, 3).double(), lengths))
    for row, length in enumerate(lengths):
        expected = [memory.keys[row, length - 1, :2]] + [memory.keys[row, 0, 2:]] * bidirectional
        torch.testing.assert_close(memory.summary[row], torch.cat(expected), rtol=0, atol=0)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", cells)
def test_padding_never_enters(cell: str, bidirectional: bool) -> None:
    """Alone or beside longer ones, and whatever fills the room after it: states, summary and gradients are the same."""
    part, values = encoder(cell, 2, bidirectional), torch.randn(3, 5, 3).double()
    found = []
    for fill in [0.0, 1e3]:
        given = sequences(values, lengths)
        filled = values.masked_fill(~given.mask.unsqueeze(-1), fill).requires_grad_()
        memory = part(Sequences(filled, given.mask, given.lengths))
        gradients = torch.autograd.grad(memory.keys.square().sum() + memory.summary.sum(), [filled, *part.parameters()])
        assert not gradients[0][~given.mask].any()
        assert gradients[0][given.mask].all()
        found.append([memory.keys, memory.summary, *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    for row, length in enumerate(lengths):
        alone = part(sequences(values[row : row + 1, :length], [length]))
        torch.testing.assert_close(found[0][0][row, :length], alone.keys[0])
        torch.testing.assert_close(found[0][1][row], alone.summary[0])


@pytest.mark.parametrize("cell", cells)
def test_each_direction_knows_only_its_side(cell: str) -> None:
    part, values = encoder(cell), torch.randn(1, 4, 3).double().requires_grad_()
    states = part(sequences(values, [4])).keys[0]
    for word in range(4):
        (ahead,) = torch.autograd.grad(states[word, :2].sum(), values, retain_graph=True)
        (back,) = torch.autograd.grad(states[word, 2:].sum(), values, retain_graph=True)
        assert ahead[0].any(-1).tolist() == [other <= word for other in range(4)]
        assert back[0].any(-1).tolist() == [other >= word for other in range(4)]


@pytest.mark.parametrize("cell", cells)
@pytest.mark.parametrize(("counts", "width"), [([3, 0], 3), ([0, 0], 2), ([0, 0], 0)])
def test_an_empty_sequence_is_zeros(cell: str, counts: list[int], width: int) -> None:
    part, values = encoder(cell, 2), torch.randn(2, width, 3).double().requires_grad_()
    memory = part(sequences(values, counts))
    assert memory.keys.shape == (2, width, 4)
    assert not memory.keys[1].any()
    assert not memory.summary[1].any()
    assert memory.summary[0].any() == bool(counts[0])
    gradients = torch.autograd.grad(memory.keys.sum() + memory.summary.sum(), [values, *part.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][1].any()


@pytest.mark.parametrize("cell", cells)
def test_gradients_are_right(cell: str) -> None:
    part, values = encoder(cell), torch.randn(2, 3, 3).double().requires_grad_()

    def encoded(values: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        memory = part(sequences(values, [3, 2]))
        return memory.keys, memory.summary

    assert torch.autograd.gradcheck(encoded, (values, *part.parameters()))


@pytest.mark.parametrize("cell", cells)
def test_saved_and_loaded_it_is_the_same(cell: str) -> None:
    part, other, given = encoder(cell, 2), encoder(cell, 2), sequences(torch.randn(3, 5, 3).double(), lengths)
    other.load_state_dict(load(save(part.state_dict())))
    torch.testing.assert_close(other(given).keys, part(given).keys, rtol=0, atol=0)
    torch.testing.assert_close(other(given).summary, part(given).summary, rtol=0, atol=0)


def test_dropout_stands_between_layers_in_training_only() -> None:
    """With everything dropped the second layer hears nothing of the words."""
    part = Recurrent(3, hidden=2, layers=2, dropout=1.0)
    one, other = sequences(torch.randn(1, 4, 3), [4]), sequences(torch.randn(1, 4, 3), [4])
    assert torch.equal(part(one).keys, part(other).keys)
    part.eval()
    assert not torch.equal(part(one).keys, part(other).keys)
    single = Recurrent(3, hidden=2, dropout=1.0)  # and one layer has no place between
    assert not torch.equal(single(one).keys, single(other).keys)


def test_found_by_name_with_its_options() -> None:
    part = find.build("encode", {"name": "recurrent", "cell": "lstm", "hidden": 5, "bidirectional": False}, inputs=4)
    assert isinstance(part, Recurrent)
    assert isinstance(part.rnn, torch.nn.LSTM)
    assert part.size == part.summary == 5


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"cell": "gruu"}, "cell: got 'gruu'; expected one of elman, lstm, gru"),
        ({"hiden": 4}, "did you mean 'hidden'"),
        ({"layers": 1.5}, "layers: got 1.5; expected a whole number"),
        ({"bidirectional": "yes"}, "bidirectional: got 'yes'; expected true or false"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        find.build("encode", {"name": "recurrent", **option}, inputs=4)
