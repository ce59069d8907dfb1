"""The counters of a server, in the Prometheus text format."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class Metrics:
    """The counters of one server, separate from those of others in the process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "crbm_requests",
            "Requests answered.",
            ("route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "crbm_request_seconds",
            "Time from request to answer.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            "crbm_batch_size",
            "Cases predicted in one call of a model.",
            ("model",),
            buckets=SIZES,
            registry=self._registry,
        )

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_batch(self, model: str, size: int) -> None:
        """Count a call of a model and its cases."""
        self._batches.labels(model).observe(size)

    def text(self) -> bytes:
        """All counters as text."""
        return generate_latest(self._registry)
