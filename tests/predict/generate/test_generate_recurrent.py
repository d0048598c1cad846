"""Recurrent decoder: the equations of Bahdanau and of Luong, and one answer however its steps are taken."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import exp, tanh
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from regard import find
from regard.attend.attention import Attention, make
from regard.attend.bias import Bias, Terms
from regard.attend.score.additive import Additive
from regard.attend.score.dot import Dot
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.predict.generate.recurrent import Recurrent, RecurrentState
from regard.types import Memory

cells = ["elman", "lstm", "gru"]
# Bahdanau; Luong; Luong with input feeding.
places = [("before", False), ("after", False), ("after", True)]
vocab, width, embed, hidden = 5, 4, 3, 4  # memory and hidden are of one size, so that a dot product can score them
tokens = torch.tensor([[1, 4, 0, 2], [1, 3, 3, 4]])
lengths = [3, 2]

in_every_place = pytest.mark.parametrize(("place", "feed"), places, ids=["before", "after", "after-feed"])


class Tired(Bias):
    """A bias with a memory of its own: what was looked at before is looked at less."""

    stateful = True

    def start(self, memory: Memory, queries: int) -> Tensor:
        return memory.values.new_zeros(len(memory.values), queries, memory.values.shape[-2])

    def terms(self, memory: Memory, queries: int, state: Tensor) -> Terms:
        return Terms(scores=-2.0 * state)

    def update(self, state: Tensor, weights: Tensor) -> Tensor:
        return state + weights


def tired(query: int, key: int, value: int) -> Attention:
    return Attention(Additive(query, key, hidden=3), bias=[Tired()])


kinds: dict[str, Callable[..., Attention]] = {
    "additive": partial(make, score={"name": "additive", "hidden": 3}),
    "bilinear": partial(make, score="bilinear"),
    "dot": partial(make, score="dot"),
    "scaled_dot": partial(make, score="scaled_dot"),
    "cosine": partial(make, score="cosine"),
    "heads": partial(make, score="scaled_dot", heads=2),
    "sparsemax": partial(make, score="dot", normalizer="sparsemax"),
    "sample": partial(make, score="dot", normalizer="sample"),
    "tired": tired,
}
scores = ["additive", "bilinear", "dot", "scaled_dot", "cosine"]


def decoder(kind: str = "additive", **options: Any) -> Recurrent:
    """Small, exact and at rest."""
    options = {"embed": embed, "hidden": hidden, **options}
    part = Recurrent(vocab, width, 6, kinds[kind], **options).double().eval()
    if part.tied_bias is not None:
        torch.nn.init.normal_(part.tied_bias)  # it begins as zeros, which would hide where it is added
    return part


def a_memory(keys: int = 3) -> Memory:
    """Keys that are not the values, and a second sentence that is one key shorter."""
    mask = torch.arange(keys)[None, :] < torch.tensor(lengths)[:, None]
    return Memory(
        torch.randn(2, keys, width).double(),
        torch.randn(2, keys, width).double(),
        mask,
        torch.randn(2, 6).double(),
    )


def one_by_one(part: Recurrent, memory: Memory, tokens: Tensor) -> tuple[Any, Tensor]:
    return Decoder.unroll(part, memory, tokens)


# By hand


def test_one_step_of_luong_by_hand() -> None:
    part = Recurrent(2, 1, 1, lambda query, key, value: Attention(Dot(query, key)), "elman", 1, 1, 1, "after", False)
    part = part.double().eval()
    rnn = part.rnn
    with torch.no_grad():
        for parameter, number in [
            (part.bridge.weight, 0.5), (part.bridge.bias, 0.0),
            (rnn.weight_ih_l0, 1.0), (rnn.weight_hh_l0, 2.0), (rnn.bias_ih_l0, 0.0), (rnn.bias_hh_l0, -0.1),
            (part.readout.bias, 0.3),
        ]:  # fmt: skip
            parameter.fill_(number)
        part.embedding.weight.copy_(torch.tensor([[-1.0], [0.4]], dtype=torch.float64))
        part.readout.weight.copy_(torch.tensor([[0.6, -0.2]], dtype=torch.float64))  # of c, of s
        part.tied_bias.copy_(torch.tensor([0.05, 0.0], dtype=torch.float64))  # type: ignore[union-attr]
    keys = torch.tensor([[[1.0], [-1.0]]]).double()
    memory = Memory(keys, 3 * keys, None, torch.tensor([[0.8]], dtype=torch.float64))
    _, look, logits = part.step(part.start(memory), torch.tensor([[1]]))

    s = tanh(1.0 * 0.4 + 2.0 * tanh(0.5 * 0.8) - 0.1)  # tanh(0.4 + 0.75990 − 0.1) = 0.78562
    a = exp(s) / (exp(s) + exp(-s))  # 0.82796
    c = 3 * a - 3 * (1 - a)  # 1.96777
    r = tanh(0.6 * c - 0.2 * s + 0.3)  # tanh 1.32354 = 0.86766
    assert look.weights.flatten().tolist() == pytest.approx([a, 1 - a], abs=1e-12)
    assert logits.flatten().tolist() == pytest.approx([-r + 0.05, 0.4 * r], abs=1e-12)
    assert logits.flatten().tolist() == pytest.approx([-0.81766, 0.34706], abs=1e-5)


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


def test_one_step_of_show_attend_and_tell_by_hand() -> None:
    """Gate, deep output and both first states; every weight of the LSTM is 0.5, and its biases are 0."""
    xu: dict[str, Any] = {"cell": "lstm", "gate": True, "output": "deep", "init_cell": True}
    part = Recurrent(2, 1, 1, lambda query, key, value: Attention(Dot(query, key)), embed=1, hidden=1, **xu)
    part = part.double().eval()
    with torch.no_grad():
        for parameter in part.rnn.parameters():
            parameter.fill_(0.5 if parameter.dim() == 2 else 0.0)
        assert part.bridge_cell is not None
        assert part.gate is not None
        for linear, weight, bias in ((part.bridge, 0.5, 0.0), (part.bridge_cell, -1.0, 0.2), (part.gate, 2.0, -0.5)):
            linear.weight.fill_(weight)
            linear.bias.fill_(bias)
        part.embedding.weight.copy_(torch.tensor([[-1.0], [0.4]], dtype=torch.float64))
        part.readout.weight.copy_(torch.tensor([[0.6, -0.2]], dtype=torch.float64))  # of h, of z
        part.readout.bias.fill_(0.3)
    keys = torch.tensor([[[1.0], [-1.0]]]).double()
    memory = Memory(keys, 3 * keys, None, torch.tensor([[0.8]], dtype=torch.float64))
    state, look, logits = part.step(part.start(memory), torch.tensor([[1]]))

    h, c = tanh(0.5 * 0.8), tanh(-0.8 + 0.2)  # 0.37995, −0.53705
    a = exp(h) / (exp(h) + exp(-h))  # 0.68133
    beta = sigmoid(2 * h - 0.5)  # 0.56461
    z = beta * (3 * a - 3 * (1 - a))  # 0.61429
    gates = 0.5 * 0.4 + 0.5 * z + 0.5 * h  # the same for all four: 0.69712
    c = sigmoid(gates) * c + sigmoid(gates) * tanh(gates)
    h = sigmoid(gates) * tanh(c)
    r = 0.4 + 0.6 * h - 0.2 * z + 0.3
    assert look.context.item() == pytest.approx(z, abs=1e-12)
    assert (state.hidden[0].item(), state.cell[0].item()) == pytest.approx((h, c), abs=1e-12)
    assert logits.flatten().tolist() == pytest.approx([-r, 0.4 * r], abs=1e-12)
    assert z == pytest.approx(0.61429, abs=1e-5)


def test_a_first_cell_needs_an_lstm() -> None:
    with pytest.raises(RegardError, match="init_cell with cell=gru; expected cell=lstm"):
        decoder(cell="gru", init_cell=True)


@in_every_place
def test_with_gate_and_deep_output_all_at_once_is_one_by_one(place: str, feed: bool) -> None:
    part = decoder(cell="lstm", place=place, feed=feed, gate=True, output="deep", init_cell=True, tie=False)
    memory = a_memory()
    found = []
    for unroll in [part.unroll, partial(one_by_one, part)]:
        look, logits = unroll(memory, tokens)
        gradients = torch.autograd.grad(logits.square().sum(), list(part.parameters()))
        assert all(gradient.any() for gradient in gradients if gradient.numel() > 1)
        found.append([logits, look.context, look.weights, *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def recur(cell: str, x: Tensor, s: Tensor, c: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    """One step of one layer."""
    W_x, W_s, b_x, b_s = weights
    if cell == "elman":
        return torch.tanh(W_x @ x + b_x + W_s @ s + b_s), c
    if cell == "lstm":
        i, f, g, o = (W_x @ x + b_x + W_s @ s + b_s).chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    (x_r, x_z, x_n), (s_r, s_z, s_n) = (W_x @ x + b_x).chunk(3), (W_s @ s + b_s).chunk(3)
    r, z = torch.sigmoid(x_r + s_r), torch.sigmoid(x_z + s_z)
    return (1 - z) * torch.tanh(x_n + r * s_n) + z * s, c


def by_hand(part: Recurrent, tiring: float, memory: Memory, row: int, words: list[int]) -> tuple[Tensor, Tensor]:
    """The module's equations for one sentence, word by word, with additive attention: logits and weights.

    `tiring` times the weights of all earlier words is taken from the scores.
    """
    P, cell, place, feed, layers = part.state_dict(), part.cell, part.place, part.feed, part.rnn.num_layers
    keys, values = memory.keys[row, : lengths[row]], memory.values[row, : lengths[row]]

    def attend(q: Tensor) -> tuple[Tensor, Tensor]:
        W_q, b, W_k, w = (P[f"attention.score.{name}"] for name in ["W_q.weight", "W_q.bias", "W_k.weight", "w"])
        e = torch.stack([w @ torch.tanh(W_q @ q + W_k @ k + b) for k in keys]) - tiring * sum(weights)
        a = e.exp() / e.exp().sum()
        return sum(a_i * v for a_i, v in zip(a, values, strict=True)), a  # type: ignore[return-value]

    def step(x: Tensor) -> None:
        for layer in range(layers):
            own = [P[f"rnn.{name}_l{layer}"] for name in ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]]
            s[layer], c[layer] = recur(cell, x, s[layer], c[layer], own)
            x = s[layer]

    def readout(*parts: Tensor) -> Tensor:
        return torch.tanh(P["readout.weight"] @ torch.cat(parts) + P["readout.bias"])

    assert memory.summary is not None
    s = list(torch.tanh(P["bridge.weight"] @ memory.summary[row] + P["bridge.bias"]).split(hidden))
    c = [torch.zeros(hidden).double() for _ in range(layers)]
    E, b = P["embedding.weight"], P["tied_bias"]
    r = torch.zeros(embed).double()
    logits: list[Tensor] = []
    weights: list[Tensor] = []
    for word in words:
        t = E[word]
        if place == "before":
            context, a = attend(s[-1])
            step(torch.cat([t, context]))
            r = readout(s[-1], context, t)
        else:
            step(torch.cat([t, r]) if feed else t)
            context, a = attend(s[-1])
            r = readout(context, s[-1])
        logits.append(E @ r + b)
        weights.append(a)
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.parametrize(("kind", "tiring"), [("additive", 0.0), ("tired", 2.0)], ids=["additive", "tired"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", cells)
@in_every_place
def test_it_is_the_equations_it_says(place: str, feed: bool, cell: str, layers: int, kind: str, tiring: float) -> None:
    part, memory = decoder(kind, cell=cell, place=place, feed=feed, layers=layers), a_memory()
    assert (part.place, part.feed, part.cell) == (place, feed, cell)
    look, logits = part.unroll(memory, tokens[:, :3])
    for row, length in enumerate(lengths):
        expected = by_hand(part, tiring, memory, row, tokens[row, :3].tolist())
        torch.testing.assert_close(logits[row], expected[0])
        torch.testing.assert_close(look.weights[row, :, :length], expected[1])
        assert not look.weights[row, :, length:].any()


@pytest.mark.parametrize("cell", cells)
@pytest.mark.parametrize("layers", [1, 3])
def test_the_first_state_is_bridged_from_the_summary(cell: str, layers: int) -> None:
    part, memory = decoder(cell=cell, layers=layers, place="after"), a_memory()
    state = part.start(memory)
    expected = torch.tanh(memory.summary @ part.bridge.weight.T + part.bridge.bias)
    assert [layer.shape for layer in state.hidden] == [(2, 1, hidden)] * layers
    torch.testing.assert_close(torch.cat(state.hidden, dim=-1).squeeze(1), expected)
    assert len(state.cell) == (layers if cell == "lstm" else 0)
    assert not any(layer.any() for layer in state.cell)
    assert state.fed is not None
    assert state.fed.shape == (2, 1, embed)
    assert not state.fed.any()


# Step by step, all at once, in beams


@pytest.mark.thin
@pytest.mark.parametrize(
    ("kind", "layers", "tie"),
    # Every score in every build; the rest of what attention can be in one.
    [*product(scores, [1, 2], [True, False]), *((kind, 2, True) for kind in kinds if kind not in scores)],
)
@pytest.mark.parametrize("cell", cells)
@in_every_place
def test_all_at_once_is_one_by_one(place: str, feed: bool, cell: str, layers: int, tie: bool, kind: str) -> None:
    part = decoder(kind, cell=cell, place=place, feed=feed, layers=layers, tie=tie)
    memory = a_memory()
    given = [memory.keys, memory.values, memory.summary, *part.parameters()]
    for tensor in given[:3]:
        tensor.requires_grad_()
    found = []
    for unroll in [part.unroll, partial(one_by_one, part)]:
        look, logits = unroll(memory, tokens)
        assert logits.shape == (2, 4, vocab)
        seen = [tensor for tensor in (look.log_prob, look.entropy) if tensor is not None]
        total = (logits.square()).sum() + look.weights.square().sum() + sum(tensor.sum() for tensor in seen)
        gradients = torch.autograd.grad(total, given, allow_unused=True)
        found.append([logits, look.context, look.weights, *seen, *gradients])
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)
    if kind == "additive":
        assert all(gradient is not None and gradient.any() for gradient in gradients)


@pytest.mark.thin
@pytest.mark.parametrize("kind", ["additive", "heads", "tired"])
@pytest.mark.parametrize("cell", cells)
@in_every_place
def test_each_hypothesis_goes_its_own_way(place: str, feed: bool, cell: str, kind: str) -> None:
    """Three hypotheses a sentence that change parents twice: each ends as if its history had been read alone."""
    part, memory = decoder(kind, cell=cell, place=place, feed=feed, layers=2), a_memory()
    state = part.start(memory).reorder(torch.zeros(2, 3, dtype=torch.long))
    words = torch.tensor([[[1, 2, 3], [4, 0, 1]], [[0, 0, 4], [2, 3, 2]], [[3, 1, 3], [0, 4, 4]]])
    turns = torch.tensor([[[2, 0, 0], [1, 1, 2]], [[1, 2, 0], [0, 0, 1]]])
    history = torch.zeros(2, 3, 0, dtype=torch.long)
    for step in range(3):
        if step:
            parents = turns[step - 1]
            state = state.reorder(parents)
            history = history.gather(1, parents.unsqueeze(-1).expand_as(history))
        state, look, logits = part.step(state, words[step])
        history = torch.cat([history, words[step].unsqueeze(-1)], dim=-1)
    assert logits.shape == (2, 3, vocab)
    for row in range(2):
        own = memory.select(torch.tensor([row]))
        for beam in range(3):
            alone = part.start(own)
            for word in history[row, beam]:
                alone, one_look, one_logits = part.step(alone, word.reshape(1, 1))
            torch.testing.assert_close(logits[row, beam], one_logits[0, 0])
            torch.testing.assert_close(look.weights[row, ..., beam, :], one_look.weights[0, ..., 0, :])
            for mine, other in zip(state.hidden + state.cell, alone.hidden + alone.cell, strict=True):
                torch.testing.assert_close(mine[row, beam], other[0, 0])


def test_beams_share_one_memory() -> None:
    part, memory = decoder("tired", cell="lstm", place="after"), a_memory()
    state, _, _ = part.step(part.start(memory), tokens[:, :1])
    wide = state.reorder(torch.zeros(2, 4, dtype=torch.long))
    assert isinstance(wide, RecurrentState)
    assert wide.memory is state.memory
    assert wide.memory.values is memory.values
    assert wide.memory.mask is memory.mask
    tensors = [*wide.hidden, *wide.cell, wide.fed, wide.looked[1]]
    assert all(tensor.shape[:2] == (2, 4) for tensor in tensors)
    after, look, _ = part.step(wide, torch.arange(4).expand(2, 4))
    assert after.memory is state.memory
    assert look.weights.shape == (2, 4, 3)


@pytest.mark.parametrize("kind", ["additive", "tired"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@in_every_place
def test_sentences_can_be_left_out_on_the_way(place: str, feed: bool, cell: str, kind: str) -> None:
    part, memory = decoder(kind, cell=cell, place=place, feed=feed), a_memory()
    rows = torch.tensor([1, 1, 0])
    state, _, _ = part.step(part.start(memory), tokens[:, :1])
    _, look, logits = part.step(state, tokens[:, 1:2])
    _, some_look, some = part.step(state.select(rows), tokens[rows, 1:2])
    torch.testing.assert_close(some, logits[rows])
    torch.testing.assert_close(some_look.weights, look.weights[rows])


@in_every_place
def test_keys_are_prepared_once_a_sentence(place: str, feed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    part, memory = decoder(place=place, feed=feed), a_memory()
    prepared, projected, prepare = [], [], part.attention.prepare
    monkeypatch.setattr(part.attention, "prepare", lambda *given: prepared.append(1) or prepare(*given))
    part.attention.score.W_k.register_forward_hook(lambda *_: projected.append(1))  # type: ignore[union-attr]
    look, _ = part.unroll(memory, tokens)
    assert look.weights.shape == (2, 4, 3)
    assert (len(prepared), len(projected)) == (1, 1)
    look, _ = one_by_one(part, memory, tokens)
    assert look.weights.shape == (2, 4, 3)
    assert (len(prepared), len(projected)) == (2, 2)


def test_luong_without_feeding_looks_once_for_all_steps() -> None:
    """The one case where no step waits for another's look: one call reads all tokens, one look serves them."""
    calls: dict[str, int] = {}
    for kind, place, feed in [("additive", "after", False), ("tired", "after", False), ("additive", "after", True)]:
        part, looks = decoder(kind, place=place, feed=feed), []
        part.attention.register_forward_hook(lambda *_, looks=looks: looks.append(1))
        part.unroll(a_memory(), tokens)
        calls[f"{kind} {feed}"] = len(looks)
    assert calls == {"additive False": 1, "tired False": 4, "additive True": 4}


@pytest.mark.parametrize("kind", ["additive", "dot"])
@in_every_place
def test_weights_wait_until_asked_for(place: str, feed: bool, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`[batch, time, key]`, nothing on hidden keys; where a fused kernel served, only asking makes the scores."""
    part, memory = decoder(kind, place=place, feed=feed).float(), a_memory()
    memory = Memory(memory.keys.float(), memory.values.float(), memory.mask, memory.summary.float())  # type: ignore[union-attr]
    made, scores = [], part.attention.score.scores
    monkeypatch.setattr(part.attention.score, "scores", lambda *given: made.append(1) or scores(*given))
    look, logits = part.unroll(memory, tokens)
    if kind == "dot":
        assert not made
    before = logits.clone()
    assert look.weights.shape == (2, 4, 3)
    assert made
    assert look.weights is look.weights
    assert torch.equal(logits, before)
    torch.testing.assert_close(look.weights.sum(-1), torch.ones(2, 4))
    assert not look.weights[1, :, 2].any()
    torch.testing.assert_close(look.weights @ memory.values, look.context)


# Padding, dropout, tying


@pytest.mark.parametrize("kind", ["additive", "dot", "tired"])
@in_every_place
def test_padding_of_the_source_changes_nothing(place: str, feed: bool, kind: str) -> None:
    part, memory = decoder(kind, place=place, feed=feed), a_memory()
    _, logits = part.unroll(memory, tokens)
    hidden_keys = ~memory.mask.unsqueeze(-1)  # type: ignore[union-attr]
    keys, values = (part.masked_fill(hidden_keys, 50.0) for part in (memory.keys, memory.values))
    filled = Memory(keys.requires_grad_(), values.requires_grad_(), memory.mask, memory.summary)
    look, other = part.unroll(filled, tokens)
    torch.testing.assert_close(other, logits, rtol=0, atol=0)
    for gradient in torch.autograd.grad(other.square().sum() + look.weights.square().sum(), [keys, values]):
        assert not gradient[1, 2].any()
    cut = Memory(memory.keys[1:, :2], memory.values[1:, :2], None, memory.summary[1:])  # type: ignore[index]
    torch.testing.assert_close(part.unroll(cut, tokens[1:])[1], logits[1:])


@pytest.mark.parametrize("keys", [0, 2])
@pytest.mark.parametrize("kind", ["additive", "dot"])
@in_every_place
def test_nothing_to_look_at_is_no_harm(place: str, feed: bool, kind: str, keys: int) -> None:
    part = decoder(kind, place=place, feed=feed).float()
    nothing = torch.randn(2, keys, width)
    look, logits = part.unroll(Memory(nothing, nothing, torch.zeros(2, keys).bool(), torch.zeros(2, 6)), tokens)
    assert not look.context.any()
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in part.parameters())


@in_every_place
def test_dropout_is_for_training_only(place: str, feed: bool) -> None:
    part, memory = decoder(place=place, feed=feed, layers=2, dropout=0.5), a_memory()
    bare = decoder(place=place, feed=feed, layers=2, dropout=0.0)
    bare.load_state_dict(part.state_dict())
    expected = bare.train().unroll(memory, tokens)[1]
    for unroll in [part.unroll, partial(one_by_one, part)]:
        torch.testing.assert_close(unroll(memory, tokens)[1], expected)
        part.train()
        assert not torch.allclose(unroll(memory, tokens)[1], unroll(memory, tokens)[1])
        part.eval()


@pytest.mark.parametrize("tie", [True, False])
@in_every_place
def test_dropout_stands_in_three_places(place: str, feed: bool, tie: bool) -> None:
    """With everything dropped: no token reaches the first layer, nothing the second, nothing the logits."""
    part, memory = decoder(place=place, feed=feed, layers=2, dropout=1.0, tie=tie).train(), a_memory()
    bias = part.tied_bias if part.out is None else part.out.bias
    assert torch.equal(part.unroll(memory, tokens)[1], bias.expand(2, 4, vocab))
    start = part.start(memory)
    (one, _, logits), (other, _, _) = (part.step(start, tokens[:, t : t + 1]) for t in (0, 1))
    assert torch.equal(logits, bias.expand(2, 1, vocab))
    assert torch.equal(one.hidden[0], other.hidden[0])
    bottomless = RecurrentState((torch.zeros_like(start.hidden[0]), start.hidden[1]), (), start.fed, None, start.memory)
    changed, _, _ = part.step(bottomless, tokens[:, :1])
    assert not torch.equal(changed.hidden[0], one.hidden[0])
    assert torch.equal(changed.hidden[1], one.hidden[1])


@in_every_place
def test_tied_embeddings_are_one_tensor(place: str, feed: bool) -> None:
    """The logits are `E r + b`; what is saved holds E once."""
    part, memory = decoder(place=place, feed=feed), a_memory()
    read: list[Tensor] = []
    plain = part._read
    part._read = lambda *given: read.append(plain(*given)) or read[-1]
    _, _, logits = part.step(part.start(memory), tokens[:, :1])
    torch.testing.assert_close(logits, read[0] @ part.embedding.weight.T + part.tied_bias)
    assert part.readout.out_features == embed
    free = decoder(place=place, feed=feed, tie=False)
    assert free.readout.out_features == hidden
    for one in [part, free]:
        state = one.state_dict()
        assert len({tensor.data_ptr() for tensor in state.values()}) == len(state)
        assert sum(tensor.shape == (vocab, embed) for tensor in state.values()) == 1
        assert set(load(save(state))) == set(state)


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("cell", cells)
def test_saved_and_loaded_it_is_the_same(cell: str, tie: bool) -> None:
    part, other = (decoder(cell=cell, layers=2, tie=tie) for _ in range(2))
    memory = a_memory()
    other.load_state_dict(load(save(part.state_dict())))
    assert torch.equal(other.unroll(memory, tokens)[1], part.unroll(memory, tokens)[1])


# Gradients, precision, options


@pytest.mark.thin
@pytest.mark.parametrize("cell", cells)
@in_every_place
def test_gradients_are_right(place: str, feed: bool, cell: str) -> None:
    part = Recurrent(3, 2, 2, kinds["additive"], cell, 2, 2, place=place, feed=feed).double().eval()  # type: ignore[arg-type]
    mask = torch.tensor([[True, True], [True, False]])

    def answer(keys: Tensor, values: Tensor, summary: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        look, logits = part.unroll(Memory(keys, values, mask, summary), torch.tensor([[1, 2], [1, 0]]))
        return logits, look.weights

    given = [torch.randn(*shape).double().requires_grad_() for shape in [(2, 2, 2), (2, 2, 2), (2, 2)]]
    assert torch.autograd.gradcheck(answer, (*given, *part.parameters()), fast_mode=True)


@pytest.mark.thin
@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["additive", "dot", "cosine"])
@pytest.mark.parametrize("cell", cells)
@in_every_place
def test_it_learns_in_lower_precision(place: str, feed: bool, cell: str, kind: str, half: bool) -> None:
    """In float32 and under autocast, all at once and one by one, near what float64 says."""
    part, memory = decoder(kind, cell=cell, place=place, feed=feed, layers=2), a_memory()
    exact = part.unroll(memory, tokens)[1]
    part = part.float()
    memory = Memory(memory.keys.float(), memory.values.float(), memory.mask, memory.summary.float())  # type: ignore[union-attr]
    for unroll in [part.unroll, partial(one_by_one, part)]:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            look, logits = unroll(memory, tokens)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())
            assert look.weights.isfinite().all()
        torch.testing.assert_close(logits.double(), exact, rtol=0, atol=0.1 if half else 1e-5)
        assert loss.isfinite()
        part.zero_grad()
        loss.backward()
        assert all(p.grad.isfinite().all() for p in part.parameters())  # type: ignore[union-attr]


def built(options: dict[str, object]) -> Any:
    spec = {"name": "recurrent", **options}
    return find.build("predict.generate", spec, vocab=vocab, memory=width, summary=6, attention=kinds["additive"])


def test_found_by_name_with_its_options() -> None:
    part = built({"cell": "lstm", "place": "after", "hidden": 5, "embed": 2, "tie": False})
    assert isinstance(part, Recurrent)
    assert isinstance(part.rnn, torch.nn.LSTM)
    assert part.feed
    assert part.rnn.input_size == 2 + 5
    assert not built({"feed": True}).feed  # before the step there is nothing read yet to feed


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"cell": "gruu"}, "cell: got 'gruu'; expected one of elman, lstm, gru"),
        ({"place": "during"}, "place: got 'during'; expected one of before, after"),
        ({"dropuot": 0.1}, "did you mean 'dropout'"),
        ({"tie": 1}, "tie: got 1; expected true or false"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        built(option)
