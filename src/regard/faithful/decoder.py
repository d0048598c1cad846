"""Probe of a decoder: one step under other weights, with the steps before it unchanged.

The output is the model's own: found by its search, then read again token by token. The attention is the one to the
source, in a Transformer that of the last layer. `normalized_by` gives a decoder with another normalizer:
`GivenWeights` has weights from outside, `Held` its own weights without their gradient. Many weights for one token are
so many hypotheses of its sentence. All in float32.

    for probe in probe_decoder(task, frozen(network), examples): probe.answer(probe.weights.unsqueeze(1))
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attend.attention import Attention
from regard.attend.normalizer import Normalized, Normalizer
from regard.data.batch import in_order
from regard.errors import RegardError
from regard.faithful.probe import TOKENS, Probe, leave_one_out, must_keep_positions
from regard.fields import Input
from regard.networks.encoder_decoder import EncoderDecoder, shifted
from regard.networks.swap import swapped
from regard.predict.generate import Decoder
from regard.search import Search
from regard.text import Tokenizer
from regard.train.task import Encoded
from regard.types import Example, Memory, Sequences

__all__ = ["GivenWeights", "Held", "Writes", "attention_of", "normalized_by", "probe_decoder"]

LOGITS = 2**24  # in one batch of outputs that are read again


@runtime_checkable
class Writes(Protocol):
    """A task with an `EncoderDecoder`: it writes text by a search."""

    inputs: dict[str, Input]
    target: Any  # a field with `text`, its tokenizer
    search: Search

    def items(self, examples: Sequence[Example]) -> list[Encoded]: ...

    def room(self, source: int) -> int: ...


class GivenWeights(Normalizer):
    """Weights from outside, whatever the scores are; shaped like the scores, keys last."""

    def __init__(self, weights: Float[Tensor, "*lead key"]) -> None:
        super().__init__()
        self.given = weights

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=self.given.to(scores.dtype))


class Held(Normalizer):
    """A normalizer's own weights, without their gradient; `last` holds those of the last call."""

    def __init__(self, normalizer: Normalizer) -> None:
        super().__init__()
        self.normalizer = normalizer
        self.last: Tensor = torch.zeros(0)

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        self.last = self.normalizer(scores, mask).weights(scores.dtype).detach()
        return Normalized(soft=self.last)


def attention_of(decoder: Decoder) -> Attention:
    """The attention from which a decoder predicts."""
    found = decoder.source_attention
    if found is None:
        name = type(decoder).__name__.lower()
        raise RegardError(f"decoder={name} has no attention", do="train with decoder=recurrent or decoder=transformer")
    return found


def normalized_by(decoder: nn.Module, attention: Attention, normalizer: Normalizer) -> Any:
    """The decoder with another normalizer in one of its attentions."""
    return swapped(decoder, attention, swapped(attention, attention.normalizer, normalizer))


def probe_decoder(
    task: Writes, network: EncoderDecoder, examples: Sequence[Example], words: int = 0, seed: int = 0
) -> Iterator[Probe]:
    """Each token of the model's outputs; at most `words` tokens of an output (0: all), drawn by the seed."""
    attention, decoder = attention_of(network.decoder), network.decoder
    [(role, field)] = task.inputs.items()
    items, device = task.items(examples), next(network.parameters()).device
    for rows in in_order([item.lengths[0] for item in items], tokens=TOKENS // 4, rows=64):
        encoded = [items[row].inputs for row in rows]
        held = Held(attention.normalizer)
        holding = normalized_by(decoder, attention, held)
        with torch.no_grad():
            source: Sequences = network.embed(field.collate([one for (one,) in encoded]).to(device))
            memory: Memory = network.encoder(source)
            must_keep_positions(memory, source)
            longest = torch.tensor([task.room(items[row].lengths[0]) for row in rows], device=device)
            banned = (Tokenizer.pad, Tokenizer.unknown, Tokenizer.start)
            found = task.search(
                decoder,
                memory,
                start=Tokenizer.start,
                end=Tokenizer.end,
                max_length=longest,
                banned=banned,
            )
            outputs = [best[0].tokens for best in found]
            target = Sequences.pad(outputs).to(device)
            before = shifted(target)
            p = torch.softmax(decoder.unroll(memory, before)[1].float(), -1)
            state = holding.start(memory)
        gradient = _gradients(network, holding, source, before, target.values)

        def again(inputs: list[Any], cases: Tensor, before: Tensor = before) -> Tensor:
            logits = decoder.unroll(network.encode(inputs[0]), before[cases])[1]
            return torch.softmax(logits.float(), -1)

        most = max(1, LOGITS // (p.shape[1] * p.shape[2]))
        leave = leave_one_out([field], encoded, 0, p, source.mask.shape[1], again, most)
        chosen = [_drawn(len(output), words, [seed, row]) for row, output in zip(rows, outputs, strict=True)]
        for word in range(before.shape[1]):
            now, token = state, before[:, word : word + 1]
            with torch.no_grad():
                state, _, logits = holding.step(now, token)
            cases = [case for case, places in enumerate(chosen) if word in places]
            if not cases:
                continue
            some = torch.tensor(cases, device=device)
            weights, now_p = _apart(held.last, attention).squeeze(1)[some], torch.softmax(logits[some, 0].float(), -1)
            measured = source.mask[some], now_p, gradient[some, word], leave[some, word]
            answer = _Stepped(decoder, attention, now.select(some), token[some])
            said = tuple(task.target.text.seen[outputs[case][word]] for case in cases)
            worth = len(rows) * len(cases) / sum(map(len, chosen))
            yield Probe(weights, *measured, answer, tuple(rows[case] for case in cases), role, said, worth, word)


def _drawn(length: int, words: int, seed: Sequence[int]) -> set[int]:
    if not words or length <= words:
        return set(range(length))
    return set(np.random.default_rng(seed).choice(length, words, replace=False).tolist())


def _apart(weights: Float[Tensor, "*lead key"], attention: Attention) -> Float[Tensor, "row query group key"]:
    """Weights as a normalizer gives them, `[row, (head,) query, (feature,) key]`, with the heads and features of a
    query as one group."""
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
    """The next token of each case under other weights: so many hypotheses that continue the same state."""

    decoder: nn.Module
    attention: Attention
    state: Any
    token: Int[Tensor, "case 1"]

    def __call__(self, weights: Float[Tensor, "case many group key"]) -> Float[Tensor, "case many out"]:
        many = torch.zeros(weights.shape[:2], dtype=torch.long, device=weights.device)
        decoder = normalized_by(self.decoder, self.attention, GivenWeights(_together(weights, self.attention)))
        logits = decoder.step(self.state.reorder(many), self.token.expand(many.shape))[2]
        return torch.softmax(logits.float(), -1)


def _gradients(
    network: EncoderDecoder,
    holding: nn.Module,
    source: Sequences,
    before: Int[Tensor, "case word"],
    target: Int[Tensor, "case word"],
) -> Float[Tensor, "case word key"]:
    """`|x_t · ∂p(word)/∂x_t|` of every word, with the weights of all steps held fixed."""
    x = source.values.detach().requires_grad_()
    logits = holding.unroll(network.encoder(replace(source, values=x)), before)[1]  # type: ignore[operator]
    p = torch.softmax(logits.float(), -1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    slopes = [torch.autograd.grad(one.sum(), x, retain_graph=True, materialize_grads=True)[0] for one in p.unbind(1)]
    return torch.stack([(x * slope).sum(-1).abs() for slope in slopes], 1).detach()
