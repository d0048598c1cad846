"""Probe of a pooling: the vector `v = Σ a_i h_i` of an input, under other weights.

Each input of a pair is probed on its own, while the other keeps its vector. All in float32.

    for probe in probe_pooling(task, frozen(network), examples): probe.answer(probe.weights.unsqueeze(1))
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import in_order
from regard.errors import RegardError
from regard.faithful.probe import TOKENS, Probe, leave_one_out, must_keep_positions
from regard.networks.reader import Reader
from regard.pool import there
from regard.train.task import Task
from regard.types import Example, Look

__all__ = ["probe_pooling"]


def probe_pooling(task: Task, network: Reader, examples: Sequence[Example]) -> Iterator[Probe]:
    """Each example once for each of its inputs."""
    if network.pool is None:
        raise RegardError(f"{task.name} has no pooling", expected="a run of a task such as classify, entail or relate")
    fields, items, device = list(task.inputs.values()), task.items(examples), next(network.parameters()).device
    count = len(fields)

    def again(inputs: list[Any], _: Tensor) -> Tensor:
        return torch.softmax(network.read(inputs).logits.float(), -1)

    for rows in in_order([item.lengths[:count] for item in items], tokens=TOKENS // 4, rows=64):
        encoded = [items[row].inputs for row in rows]
        read = network.vectors([one.to(device) for one in task.batched(encoded)])
        x = read.values.detach().requires_grad_()
        memory = network.encoded(replace(read, values=x), count)
        must_keep_positions(memory, read)
        look = network.pool(memory).look
        if look is None:
            name = type(network.pool).__name__.lower()
            raise RegardError(f"pool={name} has no attention", do="train with pool=attention or pool=source2token")
        own, states = _grouped(look), there(memory)[0].float()
        vectors = [*_summed(own.unsqueeze(1), states, look.features).squeeze(1).chunk(count)]
        logits = _logits(network, vectors)
        p = torch.softmax(logits.float(), -1)
        [slope] = torch.autograd.grad(p.max(-1).values.sum(), x, materialize_grads=True)
        gradient = (x * slope).sum(-1).abs().detach()
        states, p, vectors = states.detach(), p.detach(), [one.detach() for one in vectors]
        lengths = read.lengths[: len(rows)].tolist()
        assert task.target is not None
        answers = network.head.answers(logits.detach(), lengths, task.target.names)  # type: ignore[operator]
        said = tuple(one.text for one in answers)
        parts = zip(task.inputs, *(one.chunk(count) for one in (own, states, read.mask, gradient)), strict=True)
        for side, (role, weights, h, mask, slopes) in enumerate(parts):
            leave = leave_one_out(fields, encoded, side, p, mask.shape[1], again)
            answer = _Summed(network, side, vectors, h, look.features)
            yield Probe(weights, mask, p, slopes, leave, answer, tuple(rows), role, said, len(rows) / count)


def _grouped(look: Look) -> Float[Tensor, "row group key"]:
    """The weights of a pooling, its rows or its features side by side."""
    weights = look.weights.detach().float()  # [row, query, key], with features [row, 1, key, feature]
    return weights.squeeze(1).transpose(1, 2) if look.features else weights


def _summed(
    weights: Float[Tensor, "row many group key"], h: Float[Tensor, "row key value"], features: bool
) -> Float[Tensor, "row many size"]:
    """`Σ a_i h_i`: a vector for each row of a group, or a number for each feature."""
    if features:
        return torch.einsum("rmfk,rkf->rmf", weights, h)
    return torch.einsum("rmgk,rkv->rmgv", weights, h).flatten(2)


def _logits(network: Reader, vectors: Sequence[Float[Tensor, "row size"]]) -> Float[Tensor, "row out"]:
    logits: Tensor = network.head(vectors[0] if network.match is None else network.match(*vectors))
    return logits


@dataclass(frozen=True)
class _Summed:
    """The predictions under other weights of one input."""

    network: Reader
    side: int
    vectors: Sequence[Tensor]
    h: Tensor
    features: bool

    def __call__(self, weights: Float[Tensor, "case many group key"]) -> Float[Tensor, "case many out"]:
        new = _summed(weights, self.h, self.features)
        every = [one.unsqueeze(1).expand(-1, new.shape[1], -1) for one in self.vectors]
        every[self.side] = new
        logits = _logits(self.network, [one.flatten(0, 1) for one in every])
        return torch.softmax(logits.float(), -1).reshape(*new.shape[:2], -1)
