"""A reporter that appends every report to a file, as one line of JSON."""

import json
from pathlib import Path

from penstock.api.reporter import Metric, Metrics, Sample


class Ledger:
    """Keeps all figures of a run, the oldest first."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def report(self, metrics: Metrics) -> None:
        """One line more."""
        line = {"at_s": metrics.at_s} | {
            _name(metric, sample): sample.value
            for metric in metrics.metrics
            for sample in metric.samples
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _name(metric: Metric, sample: Sample) -> str:
    ending = "_total" if metric.kind == "counter" else sample.suffix
    labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
    return f"{metric.name}{ending}{{{labels}}}"
