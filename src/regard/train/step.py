"""One step of training: a batch → its loss → gradients, clipped → the optimiser's step.

loss = step(model, batch, optimiser, progress=0.5, clip=1.0, precision="auto")
"""

import torch
from torch import nn

from regard.train.device import precise
from regard.types import Batch, Network, Output

__all__ = ["step"]


def step(
    model: Network, batch: Batch, optimiser: torch.optim.Optimizer, progress: float, *, clip: float, precision: str
) -> Output:
    """The output of this batch, before the step; it is the mean over what the network counts that is made smaller.
    With `clip=0` nothing is clipped."""
    with precise(next(model.parameters()).device, precision, model.wide):
        output: Output = model(batch, progress)
    (output.total / output.count).backward()  # type: ignore[no-untyped-call]
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return output
