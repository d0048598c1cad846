"""Resuming a training: from the checkpoint if there is more to do, with a fallback for damaged weights."""

import math

from torch import nn

from regard.errors import RegardError
from regard.train.ema import Ema
from regard.train.run import Run
from regard.train.state import TrainState

__all__ = ["lost", "resumed"]


def lost(run: Run, model: nn.Module, mean: Ema, place: TrainState) -> list[str]:
    """A line if the best weights are damaged. The current ones replace them, and the next validation counts as the
    first."""
    try:
        run.check_weights(model)
    except RegardError:
        with mean.applied():
            run.save_weights(model)
        place.best, place.since = math.nan, 0
        return [f"{run.folder / 'model.safetensors'} is damaged; replaced with the weights of step {place.step}"]
    return []


def resumed(fresh: TrainState, run: Run, place: TrainState | None, patience: int) -> TrainState:
    """The checkpoint's state, if there is one for this data; a finished run continues only if the plan is longer."""
    if place is None:
        return fresh
    if place.data != fresh.data:
        raise RegardError(
            f"the training data is not what {run.folder} was started with",
            do="use --fresh to start over, or another --out",
        )
    again = place.finished
    if again:
        more = fresh.wanted > place.wanted or fresh.limit != place.limit
        if more and fresh.wanted > place.step:  # who asks for more than there was has patience again
            place.since, place.steps = 0, fresh.wanted
        place.finished = place.step >= place.steps or (place.ready and place.since >= patience)
    if not place.finished:
        if again or fresh.limit != place.limit:  # a new budget; the same one goes on where the same run was stopped
            place.before = place.spent
        if place.processes != fresh.processes:
            raise RegardError(
                f"{run.folder} was begun with processes: {place.processes}, not {fresh.processes}",
                do="resume it with as many as before, or use --fresh to start over",
            )
        place.wanted, place.limit = fresh.wanted, fresh.limit
    return place
