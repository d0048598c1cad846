"""A language model: numbers by hand, all at once as one by one, every search, and padding that never matters."""

import copy
import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from regard.attend.attention import make
from regard.errors import RegardError
from regard.predict.language import Language, locked
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from regard.types import Sequences

START, END = 2, 3
attentions: dict[str, Any] = {
    "none": None,
    "additive": partial(make, score={"name": "additive", "hidden": 4}),
    "heads": partial(make, score="scaled_dot", heads=2),
    "features": partial(make, score="feature_wise"),
}
kinds = pytest.mark.parametrize("look", attentions)
cells = pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
tokens = torch.tensor([[3, 5, 4, 6, 5], [3, 4, 4, 0, 6]])


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small(look: str = "none", cell: str = "lstm", vocab: int = 7, **options: Any) -> Language:
    torch.manual_seed(4)
    model = Language(vocab, attentions[look], cell, hidden=6, **options).double().eval()  # type: ignore[arg-type]
    with torch.no_grad():  # sharper than at the start of training, so that answers differ
        for parameter in model.parameters():
            parameter *= 2
        model.bias.normal_()
    return model


def told(model: Language, rows: list[list[int]]) -> Tensor:
    return model.logits(model(Sequences.pad(rows).values)[1])


def test_by_hand() -> None:
    """One Elman unit: h_1 = tanh(1), h_2 = tanh(2 + h_1 / 2); the logits are E h + b."""
    model = Language(3, None, "elman", hidden=1, layers=1).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[0.0], [1.0], [2.0]]))
        model.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
        for name, value in (("weight_ih_l0", 1.0), ("weight_hh_l0", 0.5), ("bias_ih_l0", 0.0), ("bias_hh_l0", 0.0)):
            getattr(model.rnn[0], name).fill_(value)
    look, r = model(torch.tensor([[1, 2]]))
    h_1 = math.tanh(1)
    h_2 = math.tanh(2 + h_1 / 2)
    assert look is None
    wanted = torch.tensor([[[0.1, 0.2 + h, 0.3 + 2 * h] for h in (h_1, h_2)]])
    torch.testing.assert_close(model.logits(r), wanted)


def test_the_look_back_by_hand() -> None:
    """With all energies equal each step sees the mean of the states so far: r = tanh(W [mean; h])."""
    model = small("additive")
    assert model.attention is not None
    assert model.readout is not None
    with torch.no_grad():
        model.attention.score.w.zero_()
    plain = small("none")
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if name in plain.state_dict()})
    _, h = plain(tokens)
    means = h.cumsum(1) / torch.arange(1, 6)[:, None]
    look, r = model(tokens)
    assert look is not None
    torch.testing.assert_close(r, torch.tanh(model.readout(torch.cat([means, h], dim=-1))))
    torch.testing.assert_close(look.weights[0, 2], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0, 0]).double())


@pytest.mark.parametrize(("layers", "size"), [(1, 7 * 6 + 7 + 4 * 6 * 14), (2, 7 * 6 + 7 + 2 * 4 * 6 * 14)])
def test_both_ends_share_one_matrix(layers: int, size: int) -> None:
    """Embeddings 7 × 6, their bias as outputs 7, and LSTM layers: four gates of 6 with 6 + 6 inputs and 2 biases."""
    assert sum(p.numel() for p in small(layers=layers).parameters()) == size


@kinds
@cells
def test_one_by_one_is_all_at_once(look: str, cell: str) -> None:
    model = small(look, cell)
    wanted = told(model, tokens.tolist())
    for read in (1, 2, 5):
        state = model.start(model.read(Sequences.pad(tokens[:, :read].tolist())))
        state, _, logits = model.step(state, torch.full((2, 1), START))  # reads nothing
        torch.testing.assert_close(logits, wanted[:, read - 1 : read])
        for at in range(read, 5):
            state, seen, logits = model.step(state, tokens[:, at : at + 1])
            torch.testing.assert_close(logits, wanted[:, at : at + 1])
            if look != "none":
                whole, _ = model(tokens)
                torch.testing.assert_close(seen.by_key, whole.by_key[..., at : at + 1, : at + 1])


@kinds
def test_hypotheses_of_a_sentence_go_their_own_ways(look: str) -> None:
    model = small(look)
    first = model.start(model.read(Sequences.pad([[3, 5, 4], [3]])))
    ways = torch.tensor([[[4, 5], [6, 6]], [[5, 5], [3, 4]]])  # [batch, beam, time]
    state, _, _ = model.step(first.follow(torch.zeros(2, 2, dtype=torch.long)), torch.full((2, 2), START))
    for at in range(2):
        state, _, logits = model.step(state, ways[..., at])
    swapped = state.follow(torch.tensor([[1, 0], [1, 1]]))
    for b, begun in enumerate(([3, 5, 4], [3])):
        for k in range(2):
            alone = told(model, [[*begun, *ways[b, k].tolist()]])[0, -1]
            torch.testing.assert_close(logits[b, k], alone)
    _, _, after = model.step(swapped, torch.full((2, 2), 6))
    torch.testing.assert_close(after[0, 0], told(model, [[3, 5, 4, 6, 6, 6]])[0, -1])
    torch.testing.assert_close(after[1, 0], after[1, 1])


@kinds
def test_padding_and_what_comes_later_never_matter(look: str) -> None:
    model, rows = small(look), [[3, 5, 4, 6, 5], [3, 4], [3]]
    together = told(model, rows)
    for row, found in zip(rows, together, strict=True):
        torch.testing.assert_close(found[: len(row)], told(model, [row])[0])
        for length in range(1, len(row)):
            torch.testing.assert_close(found[:length], told(model, [row[:length]])[0])
    memory = model.read(Sequences.pad(rows))
    assert memory.summary is not None
    for number, row in enumerate(rows):
        alone = model.read(Sequences.pad([row]))
        torch.testing.assert_close(memory.summary[number], alone.summary[0])
        torch.testing.assert_close(memory.keys[number, : len(row)], alone.keys[0])
        assert not memory.keys[number, len(row) :].any()


def likelihood(model: Language, begun: list[int], said: tuple[int, ...]) -> float:
    logits = told(model, [[*begun, *said]])[0].log_softmax(-1)
    return sum(logits[len(begun) - 1 + at, token].item() for at, token in enumerate(said))


@kinds
def test_searches_find_what_enumeration_finds(look: str) -> None:
    model, rows, longest = small(look, vocab=6), [[3, 5, 4], [3]], 3
    memory, room = model.read(Sequences.pad(rows)), torch.full((2,), longest)
    beam = Beam(width=30, length=0.0, nbest=5)(model, memory, start=START, end=END, longest=room, banned=(0, 1, START))
    every = [
        said
        for length in range(1, longest + 1)
        for said in itertools.product((END, 4, 5), repeat=length)
        if END not in said[:-1] and (said[-1] == END or length == longest)
    ]
    for begun, found in zip(rows, beam, strict=True):
        ranked = sorted(every, key=lambda said: -likelihood(model, begun, said))
        assert [one.tokens for one in found] == ranked[:5]
        assert found[0].log_prob == pytest.approx(likelihood(model, begun, ranked[0]))
    greedy = Greedy()(model, memory, start=START, end=END, longest=room, banned=(0, 1, START))
    drawn = Sample(count=4, seed=1)(model, memory, start=START, end=END, longest=room, banned=(0, 1, START))
    for begun, found in zip(rows * 2, [*greedy, *drawn], strict=True):
        for one in found:
            assert one.log_prob == pytest.approx(likelihood(model, begun, one.tokens))


@kinds
def test_gradients(look: str) -> None:
    model = small(look, layers=1)
    names, values = zip(*model.named_parameters(), strict=True)

    def loss(*given: Tensor) -> Tensor:
        _, r = functional_call(model, dict(zip(names, given, strict=True)), (tokens,))
        return r @ given[names.index("embedding.weight")].T

    assert torch.autograd.gradcheck(loss, tuple(v.detach().requires_grad_() for v in values), fast_mode=True)


def test_one_mask_for_all_steps() -> None:
    x = torch.ones(3, 5, 400)
    found = locked(x, 0.25, True)
    assert (found == found[:, :1]).all()
    assert found.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert not torch.equal(found[0], found[1])
    assert found.mean() == pytest.approx(1.0, abs=0.1)
    assert locked(x, 0.25, False) is x
    assert locked(x, 0.0, True) is x


@pytest.mark.parametrize("place", ["drop_in", "drop_between", "drop_out"])
def test_each_dropout_acts_in_training_alone(place: str) -> None:
    rates = {"drop_in": 0.0, "drop_between": 0.0, "drop_out": 0.0, place: 0.5}
    model = small(**rates)
    quiet = model(tokens)[1]
    torch.testing.assert_close(model(tokens)[1], quiet)
    model.train()
    assert not torch.allclose(model(tokens)[1], quiet)
    if place == "drop_out":  # nothing before it is touched
        found = model(tokens)[1]
        torch.testing.assert_close(found[found != 0], 2 * quiet[found != 0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"drop_in": 1.0}, "drop_in=1.0"),
        ({"drop_out": -0.1}, "drop_out=-0.1"),
        ({"layers": 0}, "layers=0"),
        ({"attention": partial(make, bias=("markov",))}, "keeps a state"),
    ],
)
def test_what_makes_no_model(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        Language(**{"vocab": 7, "attention": None, **options})


def test_nothing_to_go_on_from() -> None:
    with pytest.raises(RegardError, match="without a beginning"):
        small().read(Sequences.pad([[3], []]))


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_weights_left_out_are_those_from_state_to_state(cell: str) -> None:
    """The same as a network whose matrices were masked beforehand; nothing is left out in use."""
    rates = {"drop_in": 0.0, "drop_between": 0.0, "drop_out": 0.0}
    model = Language(9, None, cell=cell, hidden=4, layers=2, drop_weights=0.5, **rates).double()
    tokens = torch.tensor([[1, 2, 3, 4, 5], [5, 1, 1, 2, 8]])
    torch.manual_seed(3)
    _, once = model(tokens)
    once.sum().backward()
    masked = copy.deepcopy(model).eval()
    torch.manual_seed(3)
    for layer, own in zip(masked.rnn, model.rnn, strict=True):
        mask = torch.nn.functional.dropout(torch.ones_like(layer.weight_hh_l0), 0.5)
        assert set(mask.unique().tolist()) == {0.0, 2.0}
        assert not own.weight_hh_l0.grad[mask == 0].any()
        layer.weight_hh_l0.data *= mask
    torch.testing.assert_close(once, masked(tokens)[1])
    torch.testing.assert_close(model.eval()(tokens)[1], model(tokens)[1], rtol=0, atol=0)
    assert not torch.allclose(model(tokens)[1], once)


def test_a_word_is_left_out_wherever_it_stands() -> None:
    model = Language(9, None, hidden=4, drop_words=0.5)
    tokens = torch.arange(9).repeat(2, 3)
    E, words = model.embedding.weight, model._words(tokens)
    kept = (words.detach() != 0).any(-1)
    assert torch.equal(kept[0, :9], kept[1, 9:18])
    assert 0 < int(kept[0, :9].sum()) < 9
    torch.testing.assert_close(words[kept], 2 * E[tokens[kept]])
    torch.testing.assert_close(model.eval()._words(tokens), E[tokens])
