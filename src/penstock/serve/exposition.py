"""Metrics in the text form of Prometheus, made by its own client library."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from penstock.api.reporter import Metric, Metrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SUFFIXES = {"counter": "_total", "gauge": "", "histogram": ""}


class _Snapshot(Collector):
    """A collector over values that are there already."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Family]:
        """Every metric that has a sample."""
        for metric in self._metrics.metrics:
            if metric.samples:
                yield _family(metric)


def _family(metric: Metric) -> Family:
    family = Family(metric.name, metric.meaning, metric.kind)
    for sample in metric.samples:
        suffix = sample.suffix or _SUFFIXES[metric.kind]
        family.add_sample(metric.name + suffix, sample.labels, sample.value)
    return family


def as_text(metrics: Metrics) -> bytes:
    """The text that a scrape gets."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(metrics))
    return generate_latest(registry)
