"""One step of training: batches → their loss → gradients, clipped → the optimiser's step.

loss = step(model, batch, optimiser, progress=0.5, clip=1.0, precision="auto")
loss = step(model, [batch, another], optimiser, 0.5, clip=1.0, precision="auto")   # as one large batch
"""

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import nn

from regard.train.device import precise
from regard.train.distribute import Processes, unsynchronised
from regard.train.graphs import Graphs, passed
from regard.types import Batch, Network, Output

__all__ = ["step"]


def step(
    model: Network,
    batch: Batch | Sequence[Batch],
    optimiser: torch.optim.Optimizer,
    progress: float,
    *,
    clip: float,
    precision: str,
    graphs: Graphs | None = None,
    forward: nn.Module | None = None,
) -> Output:
    """The output of this batch, before the step; it is the mean over what the network counts that is made smaller.
    Several batches count as one large batch. With `clip=0` nothing is clipped. With `graphs` passes are replayed where
    they can be.

    `forward` is what `Processes.wrapped` makes of the model. The output of several processes is that of this process's
    share, counted as if it were the whole batch.
    """
    batches, team = [batch] if isinstance(batch, Batch) else batch, Processes.now()
    if len(batches) == 1 and team.alone:
        passes = (batches[0], progress, precision)
        output = passed(model, *passes) if graphs is None else graphs.passed(*passes)
    else:
        amount = precise(next(model.parameters()).device, precision, model.wide)
        output = _summed(forward or model, batches, progress, team, amount)
        grads = [one.grad for one in model.parameters() if one.grad is not None]
        torch._foreach_mul_(grads, team.size / output.count)  # DistributedDataParallel gives the mean over processes
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return output


def _summed(
    forward: nn.Module, batches: Sequence[Batch], progress: float, team: Processes, precise: torch.autocast
) -> Output:
    """The gradients of the sum over all batches, and their outputs as one."""
    found: list[Output] = []
    for number, one in enumerate(batches, 1):
        # All processes add up their gradients in the last backward pass alone.
        with unsynchronised(forward) if number < len(batches) else nullcontext():
            with precise:
                output: Output = forward(one, progress)
            output.total.backward()  # type: ignore[no-untyped-call]
        found.append(Output(output.total.detach(), output.count, output.notes, output.shown))
    own = sum(one.count for one in found)
    count = team.total(own)
    total = torch.stack([one.total for one in found]).sum() * (count / own)
    shown = torch.stack([one.total if one.shown is None else one.shown for one in found]).sum() * (count / own)
    notes = {name: torch.stack([one.notes[name].float() for one in found]).mean() for name in found[0].notes}
    return Output(total, count, notes, shown)
