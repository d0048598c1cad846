"""Words of an output asked again: one step of the decoder with other weights, the steps before it as they were.

The output is the model's own, found by its search and then read again word by word. The attention is that to the
source, of a Transformer the last layer's; for a while another normalizer stands in for its own, `Given` with weights
from outside, or `Held` with its own ones that pass no gradient on. Many weights for one word are so many hypotheses of
its sentence. All in float32, without dropout; the model's own weights give its own answer.

    for asked in probe_words(task, model, examples): asked.answer(asked.weights.unsqueeze(1))
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attend.attention import Attention
from regard.attend.normalizer import Normalized, Normalizer
from regard.data.batch import in_order
from regard.errors import RegardError
from regard.tasks._asked import TOKENS, Asked, variation
from regard.tasks._encoder_decoder import EncoderDecoder
from regard.tasks._generation import Generation
from regard.tasks._without import left
from regard.text import Text
from regard.types import Example, Memory, Sequences

__all__ = ["Given", "Held", "looking", "probe_words", "standing_in"]

LOGITS = 2**24  # of one batch of outputs that are read again


class Given(Normalizer):
    """Weights from outside, whatever the scores are; shaped as these, keys last."""

    def __init__(self, weights: Float[Tensor, "*lead key"]) -> None:
        super().__init__()
        self.given = weights

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=self.given.to(scores.dtype))


class Held(Normalizer):
    """A normalizer's own weights, which pass no gradient on; the last ones are kept to be seen."""

    def __init__(self, normalizer: Normalizer) -> None:
        super().__init__()
        self.normalizer = normalizer
        self.last: Tensor = torch.zeros(0)

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        self.last = self.normalizer(scores, mask).weights(scores.dtype).detach()
        return Normalized(soft=self.last)


@contextmanager
def standing_in(attention: Attention, normalizer: Normalizer) -> Iterator[None]:
    """Another normalizer in the place of an attention's own, for a while."""
    own, attention.normalizer = attention.normalizer, normalizer
    try:
        yield
    finally:
        attention.normalizer = own


def looking(decoder: nn.Module) -> Attention:
    """The attention from which a decoder draws its words: to the source, and of several layers the last."""
    found: Any = getattr(decoder, "attention", None)
    if found is None and (blocks := getattr(decoder, "blocks", None)) is not None:
        found = blocks[-1].asking
    if not isinstance(found, Attention):
        name = type(decoder).__name__.lower()
        raise RegardError(f"decoder={name} looks at nothing", do="train with decoder=recurrent or decoder=transformer")
    return found


def probe_words(
    task: Generation, model: EncoderDecoder, examples: Sequence[Example], words: int = 0, seed: int = 0
) -> Iterator[Asked]:
    """Each word of the model's outputs; at most `words` of an output (0: all), drawn by the seed."""
    attention, decoder = looking(model.decoder), model.decoder
    sources, device = [item.inputs[0] for item in task.items(examples)], next(model.parameters()).device
    for rows in in_order([len(source) for source in sources], tokens=TOKENS // 4, rows=64):
        source = Sequences.pad([sources[row] for row in rows]).to(device)
        with torch.no_grad():
            memory = model.encode(source)
            outputs = _outputs(task, model, memory, [sources[row] for row in rows])
            target = Sequences.pad(outputs).to(device).values
            before = torch.cat([torch.full_like(target[:, :1], Text.start), target[:, :-1]], 1)
            p = torch.softmax(decoder.unroll(memory, before)[1].float(), -1)
            state = decoder.start(memory)
        if memory.keys.shape[1] != source.values.shape[1]:
            raise RegardError(f"{task.name}: its encoder does not keep the tokens apart", do="train with another one")
        gradient = _gradients(model, attention, source, before, target)
        leave = _left_out(model, [sources[row] for row in rows], before, p, source.values.shape[1])
        chosen = [_drawn(len(output), words, [seed, row]) for row, output in zip(rows, outputs, strict=True)]
        for word in range(target.shape[1]):
            now, token, held = state, before[:, word : word + 1], Held(attention.normalizer)
            with torch.no_grad(), standing_in(attention, held):
                state, _, logits = decoder.step(now, token)
            cases = [case for case, places in enumerate(chosen) if word in places]
            if not cases:
                continue
            some = torch.tensor(cases, device=device)
            yield Asked(
                weights=_apart(held.last, attention).squeeze(1)[some],
                mask=source.mask[some],
                p=torch.softmax(logits[some, 0].float(), -1),
                gradient=gradient[some, word],
                leave=leave[some, word],
                answer=_Stepped(model, attention, now.select(some), token[some]),
                examples=tuple(rows[case] for case in cases),
                input="source",
                said=tuple(task.texts["target"].seen[outputs[case][word]] for case in cases),
                worth=len(rows) * len(cases) / sum(map(len, chosen)),
                word=word,
            )


def _outputs(
    task: Generation, model: EncoderDecoder, memory: Memory, sources: Sequence[Sequence[int]]
) -> list[list[int]]:
    longest = torch.tensor([task.room(len(source)) for source in sources], device=memory.keys.device)
    found = task.search(
        model.decoder,
        memory,
        start=Text.start,
        end=Text.end,
        max_length=longest,
        banned=(Text.pad, Text.unknown, Text.start),
    )
    return [list(best[0].tokens) for best in found]


def _drawn(length: int, words: int, seed: Sequence[int]) -> set[int]:
    if not words or length <= words:
        return set(range(length))
    return set(np.random.default_rng(seed).choice(length, words, replace=False).tolist())


def _apart(weights: Float[Tensor, "*lead key"], attention: Attention) -> Float[Tensor, "row query group key"]:
    """Weights as a normalizer gives them, `[row, (head,) query, (feature,) key]`, heads and features of a query as one
    group."""
    weights = weights.float() if attention.heads is None else weights.float().movedim(1, 2)
    return weights.reshape(*weights.shape[:2], -1, weights.shape[-1])


def _together(weights: Float[Tensor, "row query group key"], attention: Attention) -> Float[Tensor, "*lead key"]:
    """And back."""
    row, query, group, key = weights.shape
    heads = () if attention.heads is None else (attention.heads.heads,)
    features = (group // (heads[0] if heads else 1),) if attention.score.features else ()
    apart = weights.reshape(row, query, *heads, *features, key)
    return apart.movedim(2, 1) if heads else apart


@dataclass(frozen=True)
class _Stepped:
    """The next word of each case under other weights: each is a hypothesis that goes on from the same state."""

    model: EncoderDecoder
    attention: Attention
    state: Any
    token: Int[Tensor, "case 1"]

    def __call__(self, weights: Float[Tensor, "case many group key"]) -> Float[Tensor, "case many out"]:
        many = torch.zeros(weights.shape[:2], dtype=torch.long, device=weights.device)
        with standing_in(self.attention, Given(_together(weights, self.attention))):
            logits = self.model.decoder.step(self.state.reorder(many), self.token.expand(many.shape))[2]
        return torch.softmax(logits.float(), -1)


def _gradients(
    model: EncoderDecoder,
    attention: Attention,
    source: Sequences,
    before: Int[Tensor, "case word"],
    target: Int[Tensor, "case word"],
) -> Float[Tensor, "case word key"]:
    """`|x_t · ∂p(word)/∂x_t|` of every word, with the weights of all steps held fixed."""
    x = model.embedding(source.values).detach().requires_grad_()
    memory = model.encoder(Sequences(x, source.mask, source.lengths))
    with standing_in(attention, Held(attention.normalizer)):
        logits = model.decoder.unroll(memory, before)[1]
    p = torch.softmax(logits.float(), -1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    slopes = [torch.autograd.grad(one.sum(), x, retain_graph=True, materialize_grads=True)[0] for one in p.unbind(1)]
    return torch.stack([(x * slope).sum(-1).abs() for slope in slopes], 1).detach()


@torch.no_grad()
def _left_out(
    model: EncoderDecoder,
    sources: Sequence[Sequence[int]],
    before: Int[Tensor, "case word"],
    p: Float[Tensor, "case word out"],
    keys: int,
) -> Float[Tensor, "case word key"]:
    """TV between every word's probabilities with and without each token; 0 for the only token of a source."""
    cases = [(row, place) for row, one in enumerate(sources) if len(one) > 1 for place in range(len(one))]
    found = p.new_zeros(*before.shape, keys)
    short = left([sources[row] for row, _ in cases], [((place,),) for _, place in cases], 0)
    most = max(1, LOGITS // (p.shape[1] * p.shape[2]))
    for some in in_order([len(one) for one in short], tokens=TOKENS, rows=most) if cases else ():
        rows, places = (torch.tensor([cases[case][i] for case in some], device=p.device) for i in (0, 1))
        memory = model.encode(Sequences.pad([short[case] for case in some]).to(p.device))
        q = torch.softmax(model.decoder.unroll(memory, before[rows])[1].float(), -1)
        found[rows, :, places] = variation(p[rows], q)
    return found
