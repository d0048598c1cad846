"""Likelihood and accuracy of known tokens: what a language model and a masked one are measured by."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.data.batch import in_order
from regard.measure import Results
from regard.train.task import Encoded
from regard.types import Batch, Example

__all__ = ["token_results"]

TOKENS = 16_384  # of a batch


@torch.no_grad()
def token_results(
    network: nn.Module,
    predicted: Callable[[Batch], tuple[Tensor, Tensor]],
    examples: Sequence[Example],
    items: Sequence[Encoded],
    collate: Callable[[Sequence[Encoded]], Batch],
) -> Results:
    """`predicted` gives the logits of a batch's tokens, and the tokens; nothing is searched for."""
    nats, tokens, right, device = 0.0, 0, 0, next(network.parameters()).device
    for rows in in_order([item.lengths for item in items], tokens=TOKENS):
        logits, said = predicted(collate([items[row] for row in rows]).to(device))
        nats += float(cross_entropy(logits, said, reduction="sum"))
        right += int((logits.argmax(-1) == said).sum())
        tokens += len(said)
    return Results(examples, (), nats, tokens, right)
