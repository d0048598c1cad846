"""Metrics: what was counted, in Prometheus' own form; two services do not mix."""

from prometheus_client.parser import text_string_to_metric_families

from regard.serve.metrics import Metrics


def read(metrics: Metrics) -> dict[tuple[str, str], float]:
    families = text_string_to_metric_families(metrics.text().decode())
    return {(s.name, ",".join(s.labels.values())): s.value for family in families for s in family.samples}


def test_what_is_counted() -> None:
    metrics, other, depth = Metrics(), Metrics(), [3]
    metrics.request("/ready", 200, 0.002)
    metrics.request("/ready", 503, 0.2)
    metrics.request("/ready", 503, 0.2)
    seen = metrics.run("small", lambda: depth[0])
    for size in (1, 5, 5):
        seen(size)
    found = read(metrics)
    assert found["regard_requests_total", "/ready,503"] == 2
    assert found["regard_request_seconds_count", "/ready,200"] == 1
    assert found["regard_batch_texts_bucket", "4.0,small"] == 1
    assert (found["regard_batch_texts_count", "small"], found["regard_batch_texts_sum", "small"]) == (3, 11)
    assert found["regard_queue_texts", "small"] == 3
    depth[0] = 0
    assert read(metrics)["regard_queue_texts", "small"] == 0
    assert ("regard_requests_total", "/ready,503") not in read(other)
    assert metrics.kind.startswith("text/plain; version=")
