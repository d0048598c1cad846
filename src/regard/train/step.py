"""One step of training: a batch → its loss → gradients, clipped → the optimiser's step.

loss = step(task, model, batch, optimiser, clip=1.0, precision="auto")
"""

import torch
from torch import nn

from regard.train.device import precise
from regard.train.task import Loss, Task
from regard.types import Batch

__all__ = ["step"]


def step(
    task: Task, model: nn.Module, batch: Batch, optimiser: torch.optim.Optimizer, *, clip: float, precision: str
) -> Loss:
    """The loss of this batch, before the step; it is the mean over what the task counts that is made smaller.
    With `clip=0` nothing is clipped."""
    with precise(next(model.parameters()).device, precision, model):
        loss = task.loss(model, batch)
    (loss.total / loss.count).backward()  # type: ignore[no-untyped-call]
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return loss
