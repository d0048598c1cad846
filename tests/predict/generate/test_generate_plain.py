"""Plain decoder: the four ways of passing the context, by hand and one by one, and that it never looks."""

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from itertools import product
from math import tanh
from typing import Any

import pytest
import test_generate_contract as contract
import torch
from test_generate_recurrent import recur
from torch import Tensor

from regard import find
from regard.errors import RegardError
from regard.predict.generate.plain import Plain
from regard.search import forced
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.types import Memory

contexts = ["start", "transform", "every", "first"]
cells = ["elman", "lstm", "gru"]
vocab, size = 7, 5  # of summary and hidden alike, as context=start wants it
tokens = torch.tensor([[1, 4, 0, 2], [1, 3, 3, 6]])

for_each_context = pytest.mark.parametrize("context", contexts)
for_each_cell = pytest.mark.parametrize("cell", cells)


def decoder(**options: Any) -> Plain:
    part = Plain(vocab, size, **{"embed": 3, "hidden": size, **options}).double().eval()
    if part.tied_bias is not None:
        torch.nn.init.normal_(part.tied_bias)  # it begins as zeros, which would hide where it is added
    return part


def a_memory() -> Memory:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    keys, summary = torch.randn(2, 3, 4).double(), torch.randn(2, size).double()
    return Memory(keys, keys, mask, summary)


# By hand


@pytest.mark.parametrize(
    ("context", "s_1", "s_2"),
    [
        ("start", tanh(0.4 + 2 * 0.8), tanh(-1 + 2 * tanh(0.4 + 2 * 0.8))),
        ("transform", tanh(0.4 + 2 * tanh(0.9)), tanh(-1 + 2 * tanh(0.4 + 2 * tanh(0.9)))),  # 0.5 · 0.8 + 0.5
        ("every", tanh(0.4 + 3 * 0.8), tanh(-1 + 3 * 0.8 + 2 * tanh(0.4 + 3 * 0.8))),
        ("first", tanh(0.4 + 3 * 0.8), tanh(-1 + 2 * tanh(0.4 + 3 * 0.8))),
    ],
    ids=contexts,
)
def test_two_steps_by_hand(context: Any, s_1: float, s_2: float) -> None:
    """s = tanh(x + 2 s' + 3 c where it is shown), r = tanh(1.5 s − 0.2); the context is 0.8, the words 0.4 and −1."""
    part = Plain(2, 1, context, "elman", 1, 1).double().eval()
    with torch.no_grad():
        part.embedding.weight.copy_(torch.tensor([[-1.0], [0.4]]))
        part.rnn.weight_ih_l0.copy_(torch.tensor([[1.0, 3.0][: part.rnn.input_size]]))
        for parameter, number in [(part.rnn.weight_hh_l0, 2.0), (part.rnn.bias_ih_l0, 0.0), (part.rnn.bias_hh_l0, 0.0)]:
            parameter.fill_(number)
        part.readout.weight.fill_(1.5)
        part.readout.bias.fill_(-0.2)
        part.tied_bias.copy_(torch.tensor([0.1, 0.0]))  # type: ignore[union-attr]
        if part.transform is not None:
            part.transform.weight.fill_(0.5)
            part.transform.bias.fill_(0.5)
    nothing = torch.zeros(1, 2, 1).double()
    _, logits = part.unroll(Memory(nothing, nothing, None, torch.tensor([[0.8]]).double()), torch.tensor([[1, 0]]))
    expected = [[0.1 - r, 0.4 * r] for r in (tanh(1.5 * s - 0.2) for s in (s_1, s_2))]
    assert logits[0].tolist() == [pytest.approx(row, abs=1e-6) for row in expected]


def by_hand(part: Plain, context: Tensor, words: list[int]) -> Tensor:
    """The module's equations for one sentence, word by word."""
    P, layers, zeros = part.state_dict(), part.rnn.num_layers, torch.zeros(size).double()
    s, c = [zeros] * layers, [zeros] * layers
    if part.context == "start":
        s = [context] * layers
    if part.context == "transform":
        s = list(torch.tanh(P["transform.weight"] @ context + P["transform.bias"]).split(size))
    logits = []
    for j, word in enumerate(words):
        x = P["embedding.weight"][word]
        if part.context == "every" or (part.context == "first" and j == 0):
            x = torch.cat([x, context])
        elif part.context == "first":
            x = torch.cat([x, zeros])
        for layer in range(layers):
            own = [P[f"rnn.{name}_l{layer}"] for name in ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]]
            s[layer], c[layer] = recur(part.cell, x, s[layer], c[layer], own)
            x = s[layer]
        r = torch.tanh(P["readout.weight"] @ x + P["readout.bias"])
        E, b = (P["embedding.weight"], P["tied_bias"]) if "tied_bias" in P else (P["out.weight"], P["out.bias"])
        logits.append(E @ r + b)
    return torch.stack(logits)


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
@for_each_cell
@for_each_context
def test_it_is_the_equations_it_says(context: str, cell: str, layers: int, tie: bool) -> None:
    part, memory = decoder(context=context, cell=cell, layers=layers, tie=tie), a_memory()
    assert memory.summary is not None
    _, logits = part.unroll(memory, tokens)
    for row in range(2):
        torch.testing.assert_close(logits[row], by_hand(part, memory.summary[row], tokens[row].tolist()))


# What all decoders promise, whatever the options

checks = [check for name, check in vars(contract).items() if name.startswith("test_")]


@pytest.mark.thin
@pytest.mark.parametrize("check", [one for one in checks if "option" not in one.__name__])
@pytest.mark.parametrize(("context", "cell"), list(product(contexts, cells)))
def test_every_option_keeps_the_contract(
    context: str, cell: str, check: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(name: str) -> Any:
        spec = {"name": name, "context": context, "cell": cell, **contract.small}
        del spec["size"]
        return find.build("predict.generate", spec, **contract.given).double().eval()

    monkeypatch.setattr(contract, "decoder", built)
    check("plain", *[True] * (len(signature(check).parameters) - 1))


# The context


@pytest.mark.parametrize(("context", "shown"), [("start", 0), ("transform", 0), ("every", 2), ("first", 1)])
def test_when_the_context_is_shown(context: str, shown: int) -> None:
    """After the first state is made, it is read at so many of the first two steps; the memory's summary is swapped."""
    part, memory = decoder(context=context), a_memory()
    state, differs = part.start(memory), []
    other = replace(memory, summary=-memory.summary)  # type: ignore[operator]
    for t in range(2):
        token = tokens[:, t : t + 1]
        differs.append(not torch.equal(part.step(state, token)[2], part.step(replace(state, memory=other), token)[2]))
        state, _, _ = part.step(state, token)
    assert sum(differs) == shown
    assert differs[0] == (shown > 0)


@for_each_cell
def test_the_first_state(cell: str) -> None:
    memory = a_memory()
    assert memory.summary is not None
    for context in contexts:
        part = decoder(context=context, cell=cell, layers=2)
        hidden, *rest = part.start(memory).carried
        assert hidden.shape == (2, 1, 2, size)
        assert len(rest) == (cell == "lstm")
        assert not any(one.any() for one in rest)
        if context == "start":
            assert torch.equal(hidden, memory.summary[:, None, None].expand(2, 1, 2, size))
        else:
            assert bool(hidden.any()) == (context == "transform")
    assert not torch.equal(*decoder(context="transform", layers=2).start(memory).carried[0].unbind(2))


@for_each_cell
@for_each_context
def test_a_context_of_lower_precision_is_taken_in_its_own(context: str, cell: str) -> None:
    """As an encoder under autocast gives it: the state stays exact."""
    part, given = decoder(context=context, cell=cell).float(), a_memory()
    low = replace(given, summary=given.summary.bfloat16())  # type: ignore[union-attr]
    high = replace(given, summary=low.summary.float())  # type: ignore[union-attr]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        state, _, _ = part.step(part.start(low), tokens[:, :1])
    for one, other in zip(state.carried, part.step(part.start(high), tokens[:, :1])[0].carried, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(part.unroll(low, tokens)[1], part.unroll(high, tokens)[1])


def test_a_context_of_another_size_cannot_be_the_first_state() -> None:
    said = r"context=start got a summary of size 6 and hidden=5; expected the same size; set hidden=6, or use .*transf"
    with pytest.raises(RegardError, match=said):
        Plain(vocab, 6, "start", hidden=5)
    for context in contexts[1:]:
        part = Plain(vocab, 6, context, hidden=5, embed=3)  # type: ignore[arg-type]
        nothing = torch.zeros(2, 1, 4)
        assert part.unroll(Memory(nothing, nothing, None, torch.randn(2, 6)), tokens)[1].shape == (2, 4, vocab)


# It never looks


@for_each_context
def test_searches_find_sequences_without_weights(context: str) -> None:
    """Asked where it looked, it shows weights of no keys; what is found is the same asked or not."""
    part, memory, longest = decoder(context=context), a_memory(), torch.tensor([6, 4])
    for search in (Greedy(), Beam(beam_size=3, n_best=2)):
        asked, plain = (search(part, memory, start=1, end=2, max_length=longest, weights=w) for w in (True, False))
        for row, other in zip(asked, plain, strict=True):
            assert [one.tokens for one in row] == [one.tokens for one in other]
            for one in row:
                assert one.weights is not None
                assert one.weights.shape == (len(one.tokens), 0)
                [known] = forced(part, memory.select(torch.tensor([asked.index(row)])), [one.tokens], start=1)
                assert known.log_prob == pytest.approx(one.log_prob, abs=1e-5)
                assert known.weights is not None
                assert known.weights.shape == (len(one.tokens), 0)


def test_the_likeliest_of_all_is_found() -> None:
    """A beam wide enough is brute force."""
    part, memory = decoder(context="every"), a_memory().select(torch.tensor([0]))
    every = sorted({words[: [*words, 2].index(2) + 1] for words in product(range(vocab), repeat=3)})
    known = forced(part, memory.select(torch.zeros(len(every), dtype=torch.long)), every, start=1)
    found = {one.tokens: one.log_prob for one in known}
    best = sorted(found, key=found.__getitem__, reverse=True)[:5]
    beam = Beam(beam_size=vocab**2, length_penalty=0.0, n_best=5)
    [hypotheses] = beam(part, memory, start=1, end=2, max_length=torch.tensor([3]))
    assert [one.tokens for one in hypotheses] == best


# Dropout, options


@for_each_context
def test_dropout_is_for_training_and_hides_words_layers_and_readout(context: str) -> None:
    part, memory = decoder(context=context, layers=2, dropout=1.0), a_memory()
    assert not torch.equal(part.unroll(memory, tokens)[1], part.tied_bias.expand(2, 4, vocab))  # type: ignore[union-attr]
    part.train()
    for logits in (part.unroll(memory, tokens)[1], part.step(part.start(memory), tokens[:, :1])[2]):
        assert torch.equal(logits, part.tied_bias.expand_as(logits))  # type: ignore[union-attr]
    (one,), (other,) = (part.step(part.start(memory), tokens[:, t : t + 1])[0].carried for t in (0, 1))
    assert torch.equal(one, other)


def test_it_reads_all_at_once() -> None:
    assert decoder().parallel


def built(options: dict[str, object]) -> Any:
    spec = {"name": "plain", **options}
    return find.build("predict.generate", spec, vocab=vocab, memory=4, summary=6, attention=None)


def test_found_by_name_with_its_options() -> None:
    part = built({"cell": "lstm", "context": "every", "hidden": 5, "embed": 2, "tie": False, "layers": 3})
    assert isinstance(part, Plain)
    assert isinstance(part.rnn, torch.nn.LSTM)
    assert (part.rnn.input_size, part.rnn.num_layers, part.readout.out_features) == (2 + 6, 3, 5)
    assert built({"embed": 2}).readout.out_features == 2
    assert built({}).context == "every"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"context": "often"}, "context: got 'often'; expected one of start, transform, every, first"),
        ({"cell": "gruu"}, "cell: got 'gruu'; expected one of elman, lstm, gru"),
        ({"contxt": "every"}, "did you mean 'context'"),
    ],
)
def test_a_wrong_option_is_explained(option: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        built(option)
