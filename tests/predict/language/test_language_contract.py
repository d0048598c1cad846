"""What every language model keeps to: all at once as one by one, every search, and padding that never matters."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from regard.errors import RegardError
from regard.find import build
from regard.predict.language import LanguageModel
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from regard.types import Sequences
from tiers import sweep_but

pytestmark = pytest.mark.usefixtures("one_thread")

START, END = 2, 3
looks: dict[str, Any] = {
    "none": None,
    "additive": {"score": {"name": "additive", "hidden": 5}},
    "heads": {"score": "scaled_dot", "heads": 2},
    "features": {"score": "feature_wise"},
    "sparse": {"score": "dot", "normalizer": "sparsemax"},
}
networks: dict[str, tuple[dict[str, Any], str]] = {
    **{
        f"{cell}, {look}": ({"name": "recurrent", "cell": cell, "hidden": 6, "layers": 2}, look)
        for cell in ("elman", "lstm", "gru")
        for look in ("none", "additive", "heads", "features")
    },
    **{
        f"transformer, {positions}, {look}": (
            {"name": "transformer", "size": 8, "heads": 2, "layers": 2, "ffn": 12, "positions": positions}, look
        )
        for positions, look in (
            ("rotary", "none"), ("sinusoid", "additive"), ("learned", "sparse"), ("rotary", "features")
        )
    },
}  # fmt: skip
kinds = pytest.mark.parametrize(
    "kind",
    sweep_but(networks, "gru, additive", "lstm, heads", "transformer, rotary, none", "transformer, learned, sparse"),
)
tokens = torch.tensor([[3, 5, 4, 6, 5], [3, 4, 4, 0, 6]])


def small(kind: str, vocab: int = 7) -> LanguageModel:
    torch.manual_seed(4)
    spec, look = networks[kind]
    model: LanguageModel = build("predict.language", spec, vocab=vocab, attention=looks[look]).double().eval()
    with torch.no_grad():  # sharper than at the start of training, so that answers differ
        for parameter in model.parameters():
            parameter *= 2
    return model


def told(model: LanguageModel, rows: list[list[int]]) -> Tensor:
    return model.logits(model.states(Sequences.pad(rows).values)[1])


@kinds
def test_one_by_one_is_all_at_once(kind: str) -> None:
    model = small(kind)
    (whole, _), wanted = model.states(tokens), told(model, tokens.tolist())
    for read in (1, 2, 5):
        state = model.start(model.read(Sequences.pad(tokens[:, :read].tolist())))
        state, _, logits = model.step(state, torch.full((2, 1), START))  # reads nothing
        torch.testing.assert_close(logits, wanted[:, read - 1 : read])
        for at in range(read, 5):
            state, seen, logits = model.step(state, tokens[:, at : at + 1])
            torch.testing.assert_close(logits, wanted[:, at : at + 1])
            if whole is not None:
                torch.testing.assert_close(seen.by_key, whole.by_key[..., at : at + 1, : at + 1])


@kinds
def test_hypotheses_of_a_sentence_go_their_own_ways(kind: str) -> None:
    model = small(kind)
    first = model.start(model.read(Sequences.pad([[3, 5, 4], [3]])))
    ways = torch.tensor([[[4, 5], [6, 6]], [[5, 5], [3, 4]]])  # [batch, beam, time]
    state, _, _ = model.step(first.reorder(torch.zeros(2, 2, dtype=torch.long)), torch.full((2, 2), START))
    for at in range(2):
        state, _, logits = model.step(state, ways[..., at])
    swapped = state.reorder(torch.tensor([[1, 0], [1, 1]]))
    for b, begun in enumerate(([3, 5, 4], [3])):
        for k in range(2):
            alone = told(model, [[*begun, *ways[b, k].tolist()]])[0, -1]
            torch.testing.assert_close(logits[b, k], alone)
    _, _, after = model.step(swapped, torch.full((2, 2), 6))
    torch.testing.assert_close(after[0, 0], told(model, [[3, 5, 4, 6, 6, 6]])[0, -1])
    torch.testing.assert_close(after[1, 0], after[1, 1])


@kinds
def test_padding_and_what_comes_later_never_matter(kind: str) -> None:
    model, rows = small(kind), [[3, 5, 4, 6, 5], [3, 4], [3]]
    together = told(model, rows)
    for row, found in zip(rows, together, strict=True):
        torch.testing.assert_close(found[: len(row)], told(model, [row])[0])
        for length in range(1, len(row)):
            torch.testing.assert_close(found[:length], told(model, [row[:length]])[0])


def likelihood(model: LanguageModel, begun: list[int], said: tuple[int, ...]) -> float:
    logits = told(model, [[*begun, *said]])[0].log_softmax(-1)
    return sum(logits[len(begun) - 1 + at, token].item() for at, token in enumerate(said))


@kinds
def test_searches_find_what_enumeration_finds(kind: str) -> None:
    model, rows, longest = small(kind, vocab=6), [[3, 5, 4], [3]], 3
    memory, room = model.read(Sequences.pad(rows)), torch.full((2,), longest)
    beam = Beam(beam_size=30, length_penalty=0.0, n_best=5)(
        model, memory, start=START, end=END, max_length=room, banned=(0, 1, START)
    )
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
    greedy = Greedy()(model, memory, start=START, end=END, max_length=room, banned=(0, 1, START))
    drawn = Sample(count=4, seed=1)(model, memory, start=START, end=END, max_length=room, banned=(0, 1, START))
    for begun, found in zip(rows * 2, [*greedy, *drawn], strict=True):
        for one in found:
            assert one.log_prob == pytest.approx(likelihood(model, begun, one.tokens))


class States(nn.Module):
    """The states of a language model as a forward pass."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model.states(tokens)[1]


@kinds
def test_gradients(kind: str) -> None:
    model = small(kind)
    names, values = zip(*model.named_parameters(), strict=True)

    def loss(*given: Tensor) -> Tensor:
        r = functional_call(States(model), {f"model.{n}": one for n, one in zip(names, given, strict=True)}, (tokens,))
        return r @ given[names.index("embedding.weight")].T

    assert torch.autograd.gradcheck(loss, tuple(v.detach().requires_grad_() for v in values), fast_mode=True)


@kinds
def test_nothing_to_go_on_from(kind: str) -> None:
    with pytest.raises(RegardError, match="an empty prompt"):
        small(kind).read(Sequences.pad([[3], []]))


@kinds
def test_lengths_of_all_kinds_go_on_side_by_side(kind: str) -> None:
    """Beginnings of other lengths beside it change nothing of what a text is gone on with."""
    model, rows, said = small(kind), [[3, 5, 4, 6], [3], [3, 4]], torch.tensor([[5], [4], [6]])
    state, _, logits = model.step(model.start(model.read(Sequences.pad(rows))), torch.full((3, 1), START))
    state, _, after = model.step(state, said)
    for number, row in enumerate(rows):
        whole = told(model, [[*row, *said[number].tolist()]])[0]
        torch.testing.assert_close(logits[number, 0], whole[-2])
        torch.testing.assert_close(after[number, 0], whole[-1])
