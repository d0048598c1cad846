"""How a task measures itself: its measures by name, and the one by which weights are kept."""

from collections.abc import Sequence
from typing import Annotated

from torch import nn

from regard.errors import RegardError
from regard.find import In, Spec, build, find, nearest
from regard.measure import Results
from regard.ranges import BelowOne

__all__ = ["BestMetric", "LabelSmoothing", "Measured", "Metrics"]

# Options that several tasks have.
BestMetric = Annotated[str, "metric that chooses the best weights; one of metrics"]
LabelSmoothing = Annotated[BelowOne, "label smoothing of the cross entropy in training"]
Metrics = Annotated[tuple[Spec, ...], In("measure"), "what to measure; several with commas"]


class Measured:
    """Metrics of a task; `best_metric` must be one of them."""

    best: str = ""  # the one by which weights are kept

    def __init__(self, metrics: Sequence[Spec], best_metric: str) -> None:
        self.measures = [build("measure", one) for one in metrics]
        names = [one if isinstance(one, str) else str(one["name"]) for one in metrics]
        if best_metric not in names:
            raise RegardError(f"best_metric={best_metric!r} is not among the measures", do=nearest(best_metric, names))
        self.best = best_metric

    def measure(self, results: Results) -> dict[str, float | str]:
        figures: dict[str, float | str] = {}
        for one in self.measures:
            figures |= one(results)
        return figures

    def ready(self, model: nn.Module) -> bool:
        return True

    def better(self, new: float, old: float) -> bool:
        lower = find("measure", self.best).better == "lower"
        return new < old if lower else new > old
