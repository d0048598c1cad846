"""One step of training: a batch → its loss → gradients, clipped → the optimiser's step.

loss = step(model, batch, optimiser, progress=0.5, clip=1.0, precision="auto")
"""

import torch
from torch import nn

from regard.train.graphs import Graphs, passed
from regard.types import Batch, Network, Output

__all__ = ["step"]


def step(
    model: Network,
    batch: Batch,
    optimiser: torch.optim.Optimizer,
    progress: float,
    *,
    clip: float,
    precision: str,
    graphs: Graphs | None = None,
) -> Output:
    """The output of this batch, before the step; it is the mean over what the network counts that is made smaller.
    With `clip=0` nothing is clipped. With `graphs` passes are replayed where they can be."""
    passes = (batch, progress, precision)
    output = passed(model, *passes) if graphs is None else graphs.passed(*passes)
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return output
