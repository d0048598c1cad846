"""The metrics of a task, and the one that chooses the best weights.

metrics = MetricSet(["accuracy", "loss"], "accuracy");  metrics.measure(results);  metrics.better(0.9, 0.8)
"""

from collections.abc import Sequence

from regard.errors import RegardError, brief
from regard.find import Spec, build, find, nearest
from regard.measure import PerExample, Results

__all__ = ["MetricSet"]


class MetricSet:
    """Metrics by name; `best` must be one of them."""

    def __init__(self, metrics: Sequence[Spec], best: str) -> None:
        self.metrics = [build("measure", one) for one in metrics]
        names = [one if isinstance(one, str) else str(one["name"]) for one in metrics]
        if best not in names:
            raise RegardError(f"best_metric={brief(best)} is not one of metrics", do=nearest(best, names))
        self.best = best
        self.names = names

    def measure(self, results: Results) -> dict[str, float | str]:
        figures: dict[str, float | str] = {}
        for one in self.metrics:
            figures |= one(results)
        return figures

    def each(self, results: Results) -> dict[str, list[float]]:
        """The score of each example, by metric, `best` first; only metrics that score single examples."""
        named = sorted(zip(self.names, self.metrics, strict=True), key=lambda one: one[0] != self.best)
        return {name: metric.each(results) for name, metric in named if isinstance(metric, PerExample)}

    def better(self, new: float, old: float) -> bool:
        """Whether one value of the best metric beats another."""
        lower = find("measure", self.best).better == "lower"
        return new < old if lower else new > old
