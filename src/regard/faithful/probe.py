"""Probe: predictions under other attention weights, with everything else unchanged.

A `Probe` is a batch of predictions, the weights of the attention they come from, and `answer(weights)`: the same
predictions under other weights. Heads, rows or features that attend side by side form a group. A probe also holds two
measures of how important each position of the input was (Jain & Wallace 2019, "Attention is not Explanation",
section 4.1):

    gradient        |x_t · ∂p(ŷ)/∂x_t|, x_t the position's input vector, with the weights held fixed: the slope of the
                    prediction's probability by the token's own entry of its one-hot vector (Algorithm 1)
    leave_one_out   TV(p, p without position t), dropped before anything is encoded

`pooling` and `decoder` make probes of a network.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.batch import in_order
from regard.errors import RegardError
from regard.faithful.measures import total_variation
from regard.fields import Input
from regard.types import Memory, Sequences

__all__ = ["TOKENS", "Probe", "frozen", "leave_one_out", "must_keep_positions"]

TOKENS = 8_192  # positions in a batch of inputs that each lack one


@dataclass(frozen=True)
class Probe:
    """A batch of predictions `p`, what they come from, and what they would be under other weights."""

    weights: Float[Tensor, "case group key"]
    mask: Bool[Tensor, "case key"]
    p: Float[Tensor, "case out"]
    gradient: Float[Tensor, "case key"]
    leave_one_out: Float[Tensor, "case key"]
    answer: Callable[[Tensor], Tensor]  # [case, many, group, key] → [case, many, out]
    examples: tuple[int, ...]  # the example of each case
    input: str  # role of the input that is attended to
    said: tuple[str, ...]
    worth: float  # how many examples' work this is, to show progress
    word: int | None = None  # position in the output, where the output is a text


def frozen(network: nn.Module) -> Any:
    """A copy that shares all tensors, without dropout and without gradients of its own.

    The network itself stays as it is, so other threads may use it meanwhile.
    """
    shared: dict[int, Any] = {id(one): nn.Parameter(one.detach(), requires_grad=False) for one in network.parameters()}
    shared |= {id(one): one for one in network.buffers()}
    copied = deepcopy(network, shared).eval()
    for part in copied.modules():
        if isinstance(part, nn.RNNBase):  # cuDNN computes gradients only in training mode
            part.dropout = 0.0
            part.train()
    return copied


def must_keep_positions(memory: Memory, inputs: Sequences) -> None:
    """Raise for an encoder whose states are not one per input position."""
    if memory.keys.shape[1] != inputs.values.shape[1]:
        raise RegardError("the encoder merges positions", do="train with another encoder")


@torch.no_grad()
def leave_one_out(
    fields: Sequence[Input],
    rows: Sequence[Sequence[Any]],
    side: int,
    p: Float[Tensor, "case *word out"],
    keys: int,
    again: Callable[[list[Any], Tensor], Tensor],
    most: int = 0,
) -> Float[Tensor, "case *word key"]:
    """TV between the predictions with and without each position of one input; 0 for the only position of a row.

    `again(inputs, cases)` gives the predictions for collated inputs, `most` the rows of a batch.
    """
    sizes = [tuple(field.length(one) for field, one in zip(fields, row, strict=True)) for row in rows]
    pairs = [(row, place) for row, size in enumerate(sizes) if size[side] > 1 for place in range(size[side])]
    found = p.new_zeros(*p.shape[:-1], keys)
    for some in in_order([sizes[row] for row, _ in pairs], tokens=TOKENS, rows=most) if pairs else ():
        short = [list(rows[pairs[one][0]]) for one in some]
        for row, one in zip(short, some, strict=True):
            row[side] = fields[side].drop(row[side], [pairs[one][1]])
        columns = zip(fields, zip(*short, strict=True), strict=True)
        inputs = [field.collate(column).to(p.device) for field, column in columns]
        cases, places = torch.tensor([pairs[one] for one in some], device=p.device).unbind(1)
        found[cases, ..., places] = total_variation(p[cases], again(inputs, cases))
    return found
