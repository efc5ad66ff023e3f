# ruff: noqa: S101  -- these are tests; they assert
"""The contract of reporters, as a test class to inherit from.

class TestMyReporter(ReporterContract):
    @pytest.fixture
    def make(self) -> Callable[[], Reporter]:
        return lambda: MyReporter(host="127.0.0.1")
"""

import time
from collections.abc import Callable

import msgspec

from penstock.api.reporter import Metric, Metrics, Reporter, Sample

SOON_S = 5.0  # the end of a run waits no longer

EXAMPLE = Metrics(
    1_800_000_000.5,
    (
        Metric(
            "penstock_records_read",
            "counter",
            "Records that windows have read",
            (Sample(12, {"feed": "events"}), Sample(0, {"feed": "other"})),
        ),
        Metric("penstock_lag_records", "gauge", "Nobody knows it"),
        Metric(
            "penstock_visible_offset",
            "gauge",
            "Odd names",
            (Sample(2**53, {"feed": "events", "dataset": 'a"b\\c\nd%2F\u20ac'}),),
        ),
        Metric(
            "penstock_window_seconds",
            "histogram",
            "Seconds of each phase of a window",
            (
                Sample(1, {"feed": "events", "phase": "stage", "le": "0.5"}, "_bucket"),
                Sample(2, {"feed": "events", "phase": "stage", "le": "+Inf"}, "_bucket"),
                Sample(2, {"feed": "events", "phase": "stage"}, "_count"),
                Sample(1.25, {"feed": "events", "phase": "stage"}, "_sum"),
            ),
        ),
    ),
)


class ReporterContract:
    """Takes all kinds of metrics, again and again, within the time that a run waits at its end."""

    def test_all_kinds_of_metrics_are_taken(self, make: Callable[[], Reporter]) -> None:
        make().report(EXAMPLE)

    def test_nothing_is_taken_too(self, make: Callable[[], Reporter]) -> None:
        make().report(Metrics(1.0, ()))

    def test_later_metrics_follow_earlier_ones(self, make: Callable[[], Reporter]) -> None:
        made = make()
        for more_s in range(3):
            made.report(msgspec.structs.replace(EXAMPLE, at_s=EXAMPLE.at_s + more_s))
        make().report(EXAMPLE)  # as the next run does

    def test_many_samples_are_taken_in_time(self, make: Callable[[], Reporter]) -> None:
        samples = tuple(Sample(n, {"feed": "events", "dataset": f"d{n}"}) for n in range(10_000))
        metric = Metric("penstock_visible_offset", "gauge", "Many datasets", samples)
        began = time.process_time()
        make().report(Metrics(1.0, (metric,)))
        assert time.process_time() - began < SOON_S
