"""Sentences asked again: the vector `v = Σ a_i h_i` that a pooling gave is summed up anew under other weights.

Of a pair each input is asked by itself, and the other keeps its vector. All in float32, without dropout; the model's
own weights give its own answer.

    for asked in probe_sentences(task, model, examples): asked.answer(asked.weights.unsqueeze(1))
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import in_order
from regard.errors import RegardError
from regard.pool import there
from regard.tasks._asked import TOKENS, Asked, variation
from regard.tasks._reader import Read, Reader, stacked
from regard.tasks._sentences import Sentences
from regard.tasks._without import left
from regard.types import Example, Look, Memory, Sequences

__all__ = ["probe_sentences"]


def probe_sentences(task: Sentences, model: Reader, examples: Sequence[Example]) -> Iterator[Asked]:
    """Each example once for each of its inputs, with the other input's weights as they were."""
    if model.pool is None:
        raise RegardError(f"{task.name} looks at no sentence as a whole", expected="a run of classify, entail, relate")
    items, device = task.items(examples), next(model.parameters()).device
    sides = [[list(item.inputs[side]) for item in items] for side in range(task.columns - 1)]
    for rows in in_order([item.lengths for item in items], tokens=TOKENS // 4, rows=64):
        inputs = [Sequences.pad([side[row] for row in rows]).to(device) for side in sides]
        read = inputs[0] if len(inputs) == 1 else stacked(inputs)
        x = model.words(read.values).detach().requires_grad_()
        memory: Memory = model.encoder(Sequences(x, read.mask, read.lengths))
        look = model.pool(memory).look
        if look is None:
            name = type(model.pool).__name__.lower()
            raise RegardError(f"pool={name} looks at nothing", do="train with pool=attention or pool=source2token")
        own, states = _grouped(look), there(memory)[0].float()
        if own.shape[-1] != read.values.shape[1]:
            raise RegardError(f"{task.name}: its encoder does not keep the tokens apart", do="train with another one")
        vectors = [*_summed(own.unsqueeze(1), states, look.features).squeeze(1).chunk(len(inputs))]
        p = _decided(model, vectors)
        [grad] = torch.autograd.grad(p.max(-1).values.sum(), x, materialize_grads=True)
        gradient = (x * grad).sum(-1).abs().detach().chunk(len(inputs))
        states, p, vectors = states.detach(), p.detach(), [one.detach() for one in vectors]
        said = tuple(one.text for one in task.answers(_read_of(model, inputs), len(rows)))
        for side, (weights, h) in enumerate(zip(own.chunk(len(inputs)), states.chunk(len(inputs)), strict=True)):
            leave = _left_out(model, [[one[row] for row in rows] for one in sides], side, p, weights.shape[-1])
            answer = _Pooled(model, side, vectors, h, look.features)
            mask = read.mask.chunk(len(inputs))[side]
            worth = len(rows) / len(inputs)
            yield Asked(weights, mask, p, gradient[side], leave, answer, tuple(rows), task.roles[side], said, worth)


def _grouped(look: Look) -> Float[Tensor, "row group key"]:
    """The weights of a pooling, its rows or its features side by side."""
    weights = look.weights.detach().float()  # [row, query, key], with features [row, 1, key, feature]
    return weights.squeeze(1).transpose(1, 2) if look.features else weights


@torch.no_grad()
def _read_of(model: Reader, inputs: Sequence[Sequences]) -> Read:
    found: Read = model(inputs)
    return found


def _summed(
    weights: Float[Tensor, "row many group key"], h: Float[Tensor, "row key value"], features: bool
) -> Float[Tensor, "row many size"]:
    """`Σ a_i h_i`: for each row of a group a vector, or for each feature a number."""
    if features:
        return torch.einsum("rmfk,rkf->rmf", weights, h)
    return torch.einsum("rmgk,rkv->rmgv", weights, h).flatten(2)


def _decided(model: Reader, vectors: Sequence[Float[Tensor, "*lead size"]]) -> Float[Tensor, "*lead out"]:
    lead = vectors[0].shape[:-1]
    flat = [one.reshape(-1, one.shape[-1]) for one in vectors]
    logits = model.head(flat[0] if model.match is None else model.match(*flat))
    return torch.softmax(logits.float(), -1).reshape(*lead, -1)


@dataclass(frozen=True)
class _Pooled:
    """The answer of a pooling under other weights of one input."""

    model: Reader
    side: int
    vectors: Sequence[Tensor]
    h: Tensor
    features: bool

    def __call__(self, weights: Float[Tensor, "case many group key"]) -> Float[Tensor, "case many out"]:
        new = _summed(weights, self.h, self.features)
        every = [one.unsqueeze(1).expand(-1, new.shape[1], -1) for one in self.vectors]
        every[self.side] = new
        return _decided(self.model, every)


@torch.no_grad()
def _left_out(
    model: Reader, sides: Sequence[Sequence[Sequence[int]]], side: int, p: Float[Tensor, "case out"], keys: int
) -> Float[Tensor, "case key"]:
    """TV between the answers with and without each token of one input; 0 for the only token of one."""
    cases = [(row, place) for row, one in enumerate(sides[side]) if len(one) > 1 for place in range(len(one))]
    found, device = p.new_zeros(len(p), keys), p.device
    without = [[(place,) if number == side else () for number in range(len(sides))] for _, place in cases]
    short = [left([one[row] for row, _ in cases], without, number) for number, one in enumerate(sides)]
    lengths = [tuple(map(len, one)) for one in zip(*short, strict=True)]
    for some in in_order(lengths, tokens=TOKENS) if cases else ():
        q = torch.softmax(
            model([Sequences.pad([one[case] for case in some]).to(device) for one in short]).logits.float(), -1
        )
        rows, places = (torch.tensor([cases[case][i] for case in some], device=device) for i in (0, 1))
        found[rows, places] = variation(p[rows], q)
    return found
