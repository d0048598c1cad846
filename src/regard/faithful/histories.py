"""Probe of a recommender: the scores of its best items under other weights over the history.

The prediction is the softmax over the best candidates. Those of SASRec share one look, that of the last item in the
last layer: other weights change all their scores. In NAIS each candidate has weights of its own: those of the first are
probed, and the other scores stay as they are. Leaving an item out means that the user never had it. All in float32.

    for probe in probe_histories(task, frozen(network), examples): probe.answer(probe.weights.unsqueeze(1))
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.data.batch import in_order
from regard.errors import RegardError
from regard.faithful.probe import TOKENS, Probe, leave_one_out
from regard.fields.history import FIRST, History
from regard.networks.ranking import ranked
from regard.networks.recommend import Recommender, recent
from regard.networks.recommend.nais import Nais
from regard.networks.recommend.sasrec import Sasrec
from regard.train.task import Task
from regard.types import Example, Sequences

__all__ = ["probe_histories"]

BEST = 50  # candidates of which a prediction consists

Answer = Callable[[Tensor], Tensor]
"""Weights `[case, many, group, key]` → probabilities `[case, many, candidate]`."""


def probe_histories(task: Task, network: Recommender, examples: Sequence[Example]) -> Iterator[Probe]:
    """Each example once."""
    [(role, field)] = task.inputs.items()
    assert isinstance(field, History)
    items = task.items(examples)
    rows = [[number for number in item.inputs[0] if number >= FIRST][-network.max_length :] for item in items]
    for some in in_order([len(row) for row in rows], tokens=TOKENS, rows=64):
        histories = [rows[row] for row in some]
        seen: Sequence[Sequence[int]] = [[] if field.repeats else items[row].inputs[0] for row in some]
        ranking = ranked(network, histories, seen, top=BEST)
        best, none = ranking.items, ranking.scores == -torch.inf  # where there are fewer candidates
        read = Sequences.pad(histories).to(network.embed.learned.device)
        x = network.embed(read).values.detach().requires_grad_()
        weights, answer = _parts(network, read, x, best, none)
        p = answer(weights.unsqueeze(1)).squeeze(1)
        [slope] = torch.autograd.grad(p[:, 0].sum(), x)
        x.requires_grad_(False)
        weights, answer = _parts(network, read, x, best, none)
        p = answer(weights.unsqueeze(1)).squeeze(1)

        def again(inputs: list[Any], cases: Tensor, best: Tensor = best, none: Tensor = none) -> Tensor:
            return _chosen(network.direct(inputs[0], best[cases]), none[cases])

        leave = leave_one_out([field], [(row,) for row in histories], 0, p, read.mask.shape[1], again)
        first = best[:, 0].tolist()
        said = tuple(field.ids[number - FIRST] for number in first)
        yield Probe(
            weights, read.mask, p, (x * slope).sum(-1).abs(), leave, answer, tuple(some), role, said, float(len(some))
        )


def _chosen(
    scores: Float[Tensor, "*lead candidate"], none: Bool[Tensor, "*#lead candidate"]
) -> Float[Tensor, "*lead candidate"]:
    """The softmax over those that are candidates."""
    return torch.softmax(scores.float().masked_fill(none, torch.finfo(torch.float32).min), -1)


def _parts(
    network: Recommender,
    history: Sequences,
    x: Float[Tensor, "case key size"],
    best: Int[Tensor, "case candidate"],
    none: Bool[Tensor, "case candidate"],
) -> tuple[Float[Tensor, "case group key"], Answer]:
    """The weights that are probed, held fixed, and the prediction under any weights."""
    if isinstance(network, Sasrec):
        return _last_look(network, history, x, best, none)
    if isinstance(network, Nais):
        return _first_candidate(network, history, x, best, none)
    name = type(network).__name__
    raise RegardError(f"network={name} cannot be probed", expected="network=sasrec or network=nais")


def _last_look(
    network: Sasrec, history: Sequences, x: Tensor, best: Tensor, none: Tensor
) -> tuple[Float[Tensor, "case head key"], Answer]:
    encoder, block = network.encoder, network.encoder.blocks[-1]
    before = copy(encoder)  # all blocks but the last, and no norm at the end
    before._modules = {**encoder._modules, "blocks": nn.ModuleList([*encoder.blocks][:-1]), "norm": nn.Identity()}
    states: Tensor = before(Sequences(x, history.mask, history.lengths)).values
    places = encoder.positions(0, states.shape[1], states.device)
    last = history.mask.sum(-1) - 1
    rows = torch.arange(len(last), device=last.device)
    seen = torch.ones(states.shape[1], states.shape[1], dtype=torch.bool, device=states.device).tril()
    look, memory = block.attending(block.norm_attend(states), places, history.mask, seen.unsqueeze(0))
    own: Tensor = look.weights.detach().float()[rows, :, last]
    items = network.embed.learned[best]

    def answer(weights: Tensor) -> Tensor:
        context = block.attending.attention.heads.merge(weights.transpose(1, 2) @ memory.values)
        h = block.think(states[rows, last].unsqueeze(1) + context)
        h = h if encoder.norm is None else encoder.norm(h)
        return _chosen(torch.einsum("cmd,cid->cmi", h, items), none.unsqueeze(1))

    return own, answer


def _first_candidate(
    network: Nais, history: Sequences, x: Tensor, best: Tensor, none: Tensor
) -> tuple[Float[Tensor, "case group key"], Answer]:
    weights = network.looked(recent(history, network.max_length), best[:, :1]).weights.detach().float()
    total = weights.sum(-1)  # the weights of NAIS do not sum to 1; what is probed are their shares
    scores = network.direct(history, best).detach()
    products = torch.einsum("cd,ckd->ck", network.p[best[:, 0]], x)
    bias = torch.zeros_like(scores[:, 0]) if network.b is None else network.b[best[:, 0]]

    def answer(weights: Tensor) -> Tensor:
        first = total * torch.einsum("cmgk,ck->cm", weights, products) + bias.unsqueeze(-1)
        others = scores[:, 1:].unsqueeze(1).expand(-1, first.shape[1], -1)
        return _chosen(torch.cat([first.unsqueeze(-1), others], -1), none.unsqueeze(1))

    return weights / total.unsqueeze(-1), answer
