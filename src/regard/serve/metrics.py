"""What the service counts, in the text form of Prometheus: requests by status, how long they took, batches, queues.

Labels come from the service (its routes and runs), never from a request, so their number is bounded.

    metrics = Metrics();  metrics.request("/ready", 200, 0.001);  metrics.text()
"""

from collections.abc import Callable
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]

seconds = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Of one service; two of them in one process do not mix."""

    kind = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("regard_requests", "Requests answered.", ("route", "status"), **of)
        self.seconds = Histogram(
            "regard_request_seconds", "Seconds from request to response.", ("route", "status"), buckets=seconds, **of
        )
        self.batches = Histogram("regard_batch_texts", "Texts per batch.", ("run",), buckets=sizes, **of)
        self.queue = Gauge("regard_queue_texts", "Texts in the queue.", ("run",), **of)
        self.ready = Gauge("regard_ready", "1 when ready for requests.", **of)

    def request(self, route: str, status: int, took: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route, str(status)).observe(took)

    def refused(self, status: int) -> None:
        """A request that was not even read."""
        self.requests.labels("refused", str(status)).inc()

    def run(self, name: str, depth: Callable[[], int]) -> Callable[[int], None]:
        """What to tell the size of each batch of this run; the depth of its queue is asked for when it is wanted."""
        self.queue.labels(name).set_function(depth)
        return self.batches.labels(name).observe

    def text(self) -> bytes:
        return generate_latest(self.registry)
