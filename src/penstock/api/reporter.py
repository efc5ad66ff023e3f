"""What takes the metrics of a run to where somebody looks at them: a file, a gateway, a log.

A reporter is behind an entry point of the group `penstock.reporters`. What it points to is called
with options as keyword arguments, and returns a `Reporter`:

    penstock run --once --metrics-file /var/lib/node_exporter/penstock.prom
    penstock run --report "statsd host=127.0.0.1 port=8125"

`run` makes it before anything starts, and gives it the metrics every fifteen seconds and once at
the end. It decides nothing. A report that fails is told, and no feed fails by it.
"""

from typing import Literal, Protocol

import msgspec

from penstock.model.value import Value

Kind = Literal["counter", "gauge", "histogram"]


class Sample(Value, frozen=True):
    """One number. `suffix` is that of Prometheus, such as `_total`, `_bucket` or `_sum`."""

    value: float
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    suffix: str = ""


class Metric(Value, frozen=True):
    """A named figure with all of its samples; a figure that is not known has none.

    Counters never fall while a feed's journal lives, but for those that only a process knows, which
    begin at 0 with it. The name has neither a suffix of a sample nor that of a counter.
    """

    name: str
    kind: Kind
    meaning: str
    samples: tuple[Sample, ...] = ()


class Metrics(Value, frozen=True):
    """All metrics of a process at one time, in seconds since 1970."""

    at_s: float
    metrics: tuple[Metric, ...]


class Reporter(Protocol):
    """Takes metrics somewhere. Made and called by `run`, on one thread of its own."""

    def report(self, metrics: Metrics) -> None:
        """Take these. May raise `OSError`; must not wait long: the end of a run waits 5 s for it.

        Later metrics replace earlier ones; what could not be reported is not given again.
        """
        ...
