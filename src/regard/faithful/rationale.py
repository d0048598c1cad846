"""Is what a model chose sufficient and necessary? Predictions from the chosen tokens alone, and without them.

    comprehensiveness   p(ŷ | x) − p(ŷ | x without r)     high: the answer needs them
    sufficiency         p(ŷ | x) − p(ŷ | r alone)         near 0: they are enough

DeYoung et al. 2020, "ERASER: A Benchmark to Evaluate Rationalized NLP Models" (ACL), section 4. ŷ is the answer to
the whole input, and r is dropped from (or kept of) all inputs at once, before anything is encoded. Three kinds of r
with the same number of tokens in each input: what the encoder `chosen` (as head or dependent), the heaviest `weights`
of the pooling, and `random` tokens. A model that does not choose is asked for a `share` of the tokens.

    rationales(task, network, examples, share=0.2)["weights"]["sufficiency"]
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import in_order
from regard.networks.reader import Read, Reader
from regard.train.task import Task
from regard.types import Example

__all__ = ["rationales"]

TOKENS = 4_096  # positions in a batch
Places = list[list[int]]
"""Of each input the positions of a rationale."""


@torch.no_grad()
def rationales(
    task: Task, network: Reader, examples: Sequence[Example], share: float = 0.2, seed: int = 0
) -> dict[str, dict[str, float]]:
    """The mean of both measures over the examples for each kind of rationale, and the share of tokens it has."""
    fields, items, device = list(task.inputs.values()), task.items(examples), next(network.parameters()).device
    count = len(fields)
    chance = torch.Generator().manual_seed(seed)

    def probabilities(rows: Sequence[Sequence[Any]]) -> tuple[Read, Float[Tensor, "row out"]]:
        read = network.read([one.to(device) for one in task.batched(rows)])
        return read, torch.softmax(read.logits.float(), -1)

    found: dict[str, list[tuple[float, float, float]]] = {}
    for some in in_order([item.lengths[:count] for item in items], tokens=TOKENS, rows=64):
        rows = [items[row].inputs for row in some]
        read, p = probabilities(rows)
        best = p.argmax(-1, keepdim=True)
        lengths = [[field.length(one) for field, one in zip(fields, row, strict=True)] for row in rows]
        for name, each in _kinds(read, lengths, share, chance).items():
            without, alone = (
                probabilities([_erased(fields, row, places, kept) for row, places in zip(rows, each, strict=True)])[1]
                for kept in (False, True)
            )
            drops = ((p - other).gather(-1, best).flatten().tolist() for other in (without, alone))
            parts = [sum(map(len, places)) / max(1, sum(sizes)) for places, sizes in zip(each, lengths, strict=True)]
            found.setdefault(name, []).extend(zip(*drops, parts, strict=True))
    names = ("comprehensiveness", "sufficiency", "share")
    return {
        kind: {name: sum(one[i] for one in rows) / len(rows) for i, name in enumerate(names)}
        for kind, rows in found.items()
    }


def _kinds(read: Read, lengths: list[list[int]], share: float, chance: torch.Generator) -> dict[str, list[Places]]:
    """The rationales of each example of a batch."""
    batch, sides = len(lengths), len(lengths[0])
    kinds: dict[str, list[Places]] = {}
    sizes = [[math.ceil(share * n) for n in row] for row in lengths]
    if read.choices:
        chosen = torch.stack([choice.chosen for choice in read.choices]).any(0).cpu()
        kinds["chosen"] = [
            [chosen[side * batch + row, : lengths[row][side]].nonzero().flatten().tolist() for side in range(sides)]
            for row in range(batch)
        ]
        sizes = [[len(places) for places in row] for row in kinds["chosen"]]
    look = None if read.pooled is None else read.pooled.look
    if look is not None:
        weights = look.by_key.mean(1).float().cpu()  # of several queries the mean

        def heaviest(row: int, side: int) -> list[int]:
            own = weights[side * batch + row, : lengths[row][side]]
            return sorted(own.topk(min(sizes[row][side], len(own))).indices.tolist())

        kinds["weights"] = [[heaviest(row, side) for side in range(sides)] for row in range(batch)]
    kinds["random"] = [
        [torch.randperm(n, generator=chance)[:size].sort().values.tolist() for n, size in zip(*both, strict=True)]
        for both in zip(lengths, sizes, strict=True)
    ]
    return kinds


def _erased(fields: Sequence[Any], row: Sequence[Any], places: Places, kept: bool) -> list[Any]:
    """The inputs of an example without these positions, or with these alone; one position stays in any case, for there
    is no input of nothing."""
    short = []
    for field, one, own in zip(fields, row, places, strict=True):
        n = field.length(one)
        out = [place for place in range(n) if (place in own) is not kept]
        short.append(field.drop(one, out[1:] if len(out) == n else out))
    return short
