"""LSTMN decoder: the paper's equations for both fusions, a tape for every hypothesis, one answer however it steps."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from itertools import product
from math import exp, tanh
from typing import Any

import pytest
import test_generate_contract as contract
import torch
from test_generate_recurrent import kinds
from torch import Tensor

from regard import find
from regard.attend.attention import Attention
from regard.attend.score.dot import Dot
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.predict.generate.lstmn import Lstmn
from regard.search import forced
from regard.search.beam import Beam
from regard.types import Memory

fusions = ["shallow", "deep"]
vocab, width, embed = 6, 4, 3
lengths = [3, 2]
tokens = torch.tensor([[1, 4, 0, 2, 5], [1, 3, 3, 4, 0]])

for_each_fusion = pytest.mark.parametrize("fusion", fusions)
for_each_width = pytest.mark.parametrize("hidden", [width, 5])  # of the source, so that α̃ is γ̃, and another


def decoder(kind: str = "additive", **options: Any) -> Lstmn:
    """Small, exact and at rest."""
    part = Lstmn(vocab, width, 6, kinds[kind], **{"embed": embed, "hidden": width, **options}).double().eval()
    if part.tied_bias is not None:
        torch.nn.init.normal_(part.tied_bias)  # it begins as zeros, which would hide where it is added
    return part


def a_memory(keys: int = 3) -> Memory:
    """Keys that are not the values, and a second sentence that is one key shorter."""
    mask = torch.arange(keys)[None, :] < torch.tensor(lengths)[:, None]
    shapes = [(2, keys, width), (2, keys, width), (2, 6)]
    k, v, summary = (torch.randn(*shape).double() for shape in shapes)
    return Memory(k, v, mask, summary)


def sigmoid(z: float) -> float:
    return 1 / (1 + exp(-z))


# By hand


@for_each_fusion
def test_two_steps_by_hand(fusion: Any) -> None:
    """One number a state. The source is one key, so all weight is its, and its value is 2."""
    part = Lstmn(2, 1, 1, lambda query, key, value: Attention(_Zero(query, key)), fusion, 1, 1).double().eval()
    with torch.no_grad():
        for name, numbers in {
            "embedding.weight": [-0.5, 1.0],
            "W_h.weight": [2.0],
            "W_x.weight": [0.5],
            "W_h_tilde.weight": [-3.0],
            "v": [4.0],
            "gates_x.weight": [1.0, 0.5, -1.0, 2.0],  # i, f, o, ĉ
            "gates_x.bias": [0.1, 0.2, 0.3, 0.0],
            "gates_h.weight": [0.4, -0.4, 0.2, 1.5],
            "W_0.weight": [1.0, -1.0],
            "W_0.bias": [0.0, 0.5],
            "tied_bias": [0.0, 0.25],
            "W_z.weight": [3.0] if fusion == "deep" else [0.5, 3.0],  # of z, of h
            "W_z.bias": [0.1],
            **({"W_r.weight": [0.6, -1.0], "W_r.bias": [0.2]} if fusion == "deep" else {}),  # of γ̃, of x
        }.items():
            parameter = part.get_parameter(name)
            parameter[:] = torch.tensor(numbers, dtype=torch.float64).reshape(parameter.shape)

    def step(x: float, h: float, c: float) -> tuple[float, float]:
        i, f, o = sigmoid(x + 0.1 + 0.4 * h), sigmoid(0.5 * x + 0.2 - 0.4 * h), sigmoid(-x + 0.3 + 0.2 * h)
        c = f * c + i * tanh(2 * x + 1.5 * h)
        if fusion == "deep":
            c += sigmoid(0.6 * 2 - x + 0.2) * 2
        return o * tanh(c), c

    h_0, c_0 = tanh(0.7), tanh(-0.7 + 0.5)  # the summary is 0.7
    h_1, c_1 = step(1.0, h_0, c_0)  # one state to look at, so all the weight is its
    a_0, a_1 = (4 * tanh(2 * h + 0.5 * -0.5 - 3 * h_0) for h in (h_0, h_1))  # h̃ of the step before is h_0
    s = exp(a_0) / (exp(a_0) + exp(a_1))
    h_2, _ = step(-0.5, s * h_0 + (1 - s) * h_1, s * c_0 + (1 - s) * c_1)
    r = [tanh(3 * h + 0.1 + (1.0 if fusion == "shallow" else 0.0)) for h in (h_1, h_2)]

    source = torch.ones(1, 1, 1).double()
    memory = Memory(source, 2 * source, None, torch.tensor([[0.7]]).double())
    look, logits = part.unroll(memory, torch.tensor([[1, 0]]))
    assert look.weights.flatten().tolist() == [1.0, 1.0]
    assert logits.flatten().tolist() == pytest.approx([-0.5 * r[0], r[0] + 0.25, -0.5 * r[1], r[1] + 0.25], abs=1e-7)
    assert s == pytest.approx({"shallow": 0.71888, "deep": 0.67898}[fusion], abs=1e-5)


class _Zero(Dot):
    """Any query suits any key: scores are 0."""

    def __init__(self, query: int, key: int) -> None:
        super().__init__(key, key)

    def project(self, query: Tensor | None) -> Tensor:
        assert query is not None
        return 0 * query[..., :1]


def by_hand(part: Lstmn, tiring: float, memory: Memory, row: int, words: list[int]) -> tuple[Tensor, Tensor]:
    """The module's equations for one sentence, word by word, with additive attention: logits and weights.

    `tiring` times the weights of all earlier words is taken from the scores.
    """
    P, hidden, deep = part.state_dict(), part.hidden, part.fusion == "deep"
    keys, values = memory.keys[row, : lengths[row]], memory.values[row, : lengths[row]]

    def attend(q: Tensor) -> tuple[Tensor, Tensor]:
        W_q, b, W_k, w = (P[f"attention.score.{name}"] for name in ["W_q.weight", "W_q.bias", "W_k.weight", "w"])
        e = torch.stack([w @ torch.tanh(W_q @ q + W_k @ k + b) for k in keys]) - tiring * sum(weights)
        p = e.exp() / e.exp().sum()
        return sum(p_j * v for p_j, v in zip(p, values, strict=True)), p  # type: ignore[return-value]

    assert memory.summary is not None
    first = torch.tanh(P["W_0.weight"] @ memory.summary[row] + P["W_0.bias"])
    hs, cs = [first[:hidden]], [first[hidden:]]
    h_tilde, gamma = torch.zeros(hidden).double(), torch.zeros(width).double()
    W, b = torch.cat([P["gates_h.weight"], P["gates_x.weight"]], 1), P["gates_x.bias"]
    logits: list[Tensor] = []
    weights: list[Tensor] = []
    for word in words:
        x = P["embedding.weight"][word]
        a = [
            P["v"] @ torch.tanh(P["W_h.weight"] @ h + P["W_x.weight"] @ x + P["W_h_tilde.weight"] @ h_tilde) for h in hs
        ]
        total = sum(one.exp() for one in a)
        s = [one.exp() / total for one in a]
        h_tilde = sum(one * h for one, h in zip(s, hs, strict=True))  # type: ignore[assignment]
        c_tilde = sum(one * c for one, c in zip(s, cs, strict=True))
        i, f, o, c_hat = (W @ torch.cat([h_tilde, x]) + b).chunk(4)
        c = torch.sigmoid(f) * c_tilde + torch.sigmoid(i) * torch.tanh(c_hat)
        if deep:
            gamma, p = attend(torch.cat([x, gamma]))
            r = torch.sigmoid(P["W_r.weight"] @ torch.cat([gamma, x]) + P["W_r.bias"])
            c = c + r * (P["W_alpha.weight"] @ gamma if "W_alpha.weight" in P else gamma)
        h = torch.sigmoid(o) * torch.tanh(c)
        hs.append(h)
        cs.append(c)
        seen = h
        if not deep:
            z, p = attend(h)
            seen = torch.cat([z, h])
        logits.append(P["embedding.weight"] @ torch.tanh(P["W_z.weight"] @ seen + P["W_z.bias"]) + P["tied_bias"])
        weights.append(p)
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.parametrize(("kind", "tiring"), [("additive", 0.0), ("tired", 2.0)], ids=["additive", "tired"])
@for_each_width
@for_each_fusion
def test_it_is_the_published_equations(fusion: str, hidden: int, kind: str, tiring: float) -> None:
    part, memory = decoder(kind, fusion=fusion, hidden=hidden), a_memory()
    assert (part.W_alpha is not None) == (fusion == "deep" and hidden != width)
    look, logits = part.unroll(memory, tokens)
    for row, length in enumerate(lengths):
        expected = by_hand(part, tiring, memory, row, tokens[row].tolist())
        torch.testing.assert_close(logits[row], expected[0])
        torch.testing.assert_close(look.weights[row, :, :length], expected[1])
        assert not look.weights[row, :, length:].any()


# What all decoders promise, whatever the options

checks = [check for name, check in vars(contract).items() if name.startswith("test_")]


@pytest.mark.thin
@pytest.mark.parametrize("check", [one for one in checks if "option" not in one.__name__])
@pytest.mark.parametrize(("fusion", "hidden", "tie"), list(product(fusions, [contract.width, 5], [True, False])))
def test_every_option_keeps_the_contract(
    fusion: str, hidden: int, tie: bool, check: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(name: str) -> Any:
        spec = {"name": name, "fusion": fusion, "hidden": hidden, "embed": 8, "tie": tie}
        return find.build("predict.generate", spec, **contract.given).double().eval()

    monkeypatch.setattr(contract, "decoder", built)
    check("lstmn", *[True] * (len(signature(check).parameters) - 1))


@pytest.mark.parametrize("kind", ["additive", "bilinear", "heads", "tired"])
@for_each_fusion
def test_any_attention_all_at_once_or_one_by_one(fusion: str, kind: str) -> None:
    """Scores, heads, and a bias whose state waits for the step before."""
    part, memory = decoder(kind, fusion=fusion), a_memory()
    found = []
    for unroll in (part.unroll, partial(Decoder.unroll, part)):
        look, logits = unroll(memory, tokens)
        gradients = torch.autograd.grad(logits.square().sum(), list(part.parameters()), allow_unused=True)
        found.append([logits, look.context, look.weights, *gradients])
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)


@for_each_fusion
def test_a_bias_with_a_state_follows_its_hypothesis(fusion: str) -> None:
    """Each of three hypotheses, after a change of parents, is as if its history had been read alone."""
    part, memory = decoder("tired", fusion=fusion), a_memory().select(torch.tensor([0]))
    words, parents, last = (
        torch.tensor([[[1, 2], [3, 0], [1, 5]]]),
        torch.tensor([[2, 0, 0]]),
        torch.tensor([[3, 3, 4]]),
    )
    state = part.start(memory).reorder(torch.zeros(1, 3, dtype=torch.long))
    for token in words.unbind(-1):
        state, _, _ = part.step(state, token)
    _, look, logits = part.step(state.reorder(parents), last)
    for beam in range(3):
        history = torch.cat([words[0, parents[0, beam]], last[0, beam : beam + 1]])
        seen, alone = part.unroll(memory, history[None])
        torch.testing.assert_close(logits[0, beam], alone[0, -1])
        torch.testing.assert_close(look.weights[0, beam], seen.weights[0, -1])


# The tape


@for_each_fusion
def test_the_tape_grows_by_one_state_a_step(fusion: str) -> None:
    part, memory = decoder(fusion=fusion), a_memory()
    state = part.start(memory)
    assert memory.summary is not None
    first = torch.tanh(memory.summary @ part.W_0.weight.T + part.W_0.bias)
    for t in range(4):
        assert state.tape.shape == (2, 1, t + 1, 2 * width)
        torch.testing.assert_close(state.tape[:, 0, 0], first)
        torch.testing.assert_close(state.keys, state.tape[..., :width] @ part.W_h.weight.T)
        before = state.tape
        state, _, _ = part.step(state, tokens[:, t : t + 1])
        assert torch.equal(state.tape[:, :, :-1], before)


def test_only_h_enters_the_scores() -> None:
    """With the output gate shut every h read is 0: whatever the cells hold, all states but the first look alike."""
    part, memory = decoder(fusion="deep"), a_memory()
    with torch.no_grad():
        part.gates_x.bias[2 * width : 3 * width] = -1e4
    state = part.start(memory)
    for t in range(3):
        state, _, _ = part.step(state, tokens[:, t : t + 1])
    assert not state.keys[:, :, 1:].any()
    assert state.tape[:, :, 1:, width:].all()


def test_a_shut_gate_lets_nothing_of_the_source_in() -> None:
    """Deep, the source reaches the answer by way of r ⊙ α̃ alone."""
    part, memory = decoder(fusion="deep"), a_memory()
    other = Memory(memory.keys + 1, memory.values - 1, memory.mask, memory.summary)
    assert not torch.allclose(part.unroll(memory, tokens)[1], part.unroll(other, tokens)[1])
    with torch.no_grad():
        part.W_r.bias.fill_(-1e4)  # type: ignore[union-attr]
    assert torch.equal(part.unroll(memory, tokens)[1], part.unroll(other, tokens)[1])


@for_each_fusion
def test_a_memory_of_lower_precision_is_taken_in_its_own(fusion: str) -> None:
    """As an encoder under autocast gives it: the tape stays exact."""
    part, given = decoder(fusion=fusion, hidden=5).float(), a_memory()
    low = Memory(given.keys.bfloat16(), given.values.bfloat16(), given.mask, given.summary.bfloat16())  # type: ignore[union-attr]
    high = Memory(low.keys.float(), low.values.float(), low.mask, low.summary.float())  # type: ignore[union-attr]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        state, _, _ = part.step(part.start(low), tokens[:, :1])
    assert torch.equal(state.tape, part.step(part.start(high), tokens[:, :1])[0].tape)
    assert torch.equal(part.unroll(low, tokens)[1], part.unroll(high, tokens)[1])


# Search


@for_each_fusion
def test_the_likeliest_of_all_is_found(fusion: str) -> None:
    """A beam wide enough is brute force, and a batch of two with a longer tape beside it changes nothing."""
    part, memory = decoder(fusion=fusion), a_memory()
    alone = memory.select(torch.tensor([1]))
    every = sorted({words[: [*words, 2].index(2) + 1] for words in product(range(vocab), repeat=3)})
    known = forced(part, alone.select(torch.zeros(len(every), dtype=torch.long)), every, start=1)
    found = {one.tokens: one.log_prob for one in known}
    best = sorted(found, key=found.__getitem__, reverse=True)[:4]
    beam = Beam(beam_size=vocab**2, length_penalty=0.0, n_best=4)
    _, hypotheses = beam(part, memory, start=1, end=2, max_length=torch.tensor([5, 3]), weights=True)
    assert [one.tokens for one in hypotheses] == best
    for one in hypotheses:
        [true] = forced(part, alone, [one.tokens], start=1)
        torch.testing.assert_close(one.weights, true.weights)


# Dropout, options


@pytest.mark.parametrize("tie", [True, False])
@for_each_fusion
def test_dropout_is_for_training_and_hides_words_and_readout(fusion: str, tie: bool) -> None:
    part, memory = decoder(fusion=fusion, dropout=1.0, tie=tie), a_memory()
    bias = part.tied_bias if part.out is None else part.out.bias
    assert not torch.equal(part.unroll(memory, tokens)[1], bias.expand(2, 5, vocab))
    part.train()
    for logits in (part.unroll(memory, tokens)[1], part.step(part.start(memory), tokens[:, :1])[2]):
        assert torch.equal(logits, bias.expand_as(logits))
    one, other = (part.step(part.start(memory), tokens[:, t : t + 1])[0].tape for t in (0, 1))
    assert torch.equal(one, other)


def built(options: dict[str, object]) -> Any:
    spec = {"name": "lstmn", **options}
    return find.build("predict.generate", spec, vocab=vocab, memory=4, summary=6, attention=kinds["additive"])


def test_found_by_name_with_its_options() -> None:
    part = built({"fusion": "deep", "hidden": 5, "embed": 2, "tie": False})
    assert isinstance(part, Lstmn)
    assert part.W_r is not None
    assert part.W_z.out_features == 5
    assert built({"embed": 2}).W_z.out_features == 2
    assert built({}).fusion == "shallow"
    assert not built({}).parallel


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"fusion": "middling"}, "fusion: got 'middling'; expected one of shallow, deep"),
        ({"fuson": "deep"}, "did you mean 'fusion'"),
        ({"layers": 2}, "unknown option 'layers'"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        built(option)


def test_a_score_that_needs_one_size_is_refused() -> None:
    """The deep query is [x; γ̃], which no key is as wide as."""
    with pytest.raises(RegardError, match="dot got queries of size 7 and keys of size 4"):
        decoder("dot", fusion="deep")
