"""Event time: when each record happened, and whether that is believed.

`event_time_of` says it for one record and is the specification. `event_times` says the same for a
batch: columns of numbers and of ISO texts are read at once, and a row that cannot be proven good
that way is asked for one by one, so both give the same times and the same words for bad ones.
Nothing here looks at a clock or at the machine's zone: a window that is tried again places every
record where it was placed before, as long as it is given the same `now_s`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.event_time.single_time import Unreadable, check_unit, micros_of
from penstock.datapath.shape.event_time.time_columns import read_columns, surely_unreadable
from penstock.datapath.shape.event_time.zones import (
    EARLIEST,
    FIRST_WALL,
    LAST_WALL,
    LATEST,
    SECOND,
    Micros,
    midnight,
)
from penstock.model.bad_records import BadRecord
from penstock.model.spec import TimeSpec

TIME_MISSING = "TIME_MISSING"
TIME_UNREADABLE = "TIME_UNREADABLE"
TIME_TOO_EARLY = "TIME_TOO_EARLY"
TIME_TOO_LATE = "TIME_TOO_LATE"

NO_KAFKA_TIME = -1
_KAFKA = "Kafka timestamp"


@dataclass(frozen=True, slots=True)
class Times:
    """The event time of each row in UTC microseconds, 0 where it is bad; bad rows in order."""

    micros: Micros
    bad: list[BadRecord]


@dataclass(frozen=True, slots=True)
class BadTime:
    """Why a record has no event time: a code, and a sentence without the payload."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Policy:
    """What to use in place of a time: Kafka's timestamp, a day's midnight, or nothing."""

    is_kafka: bool = False
    stand_in: int | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """A `TimeSpec` made ready for one window: both bounds are inclusive UTC microseconds."""

    spec: TimeSpec
    zone: ZoneInfo
    earliest: int
    latest: int
    missing: _Policy
    unreadable: _Policy
    outside: _Policy

    def of_value(self, value: object, kafka_ms: int) -> int | BadTime:
        """The time of a record by its field."""
        if value is None:
            bad = BadTime(TIME_MISSING, f"{self.spec.field}: absent or null")
            return self._by_policy(self.missing, bad, kafka_ms)
        found = micros_of(value, self.spec.unit, self.zone)
        if isinstance(found, int) and not FIRST_WALL <= found <= LAST_WALL:
            found = Unreadable("a time outside the years 1 to 9999")
        if isinstance(found, Unreadable):
            bad = BadTime(TIME_UNREADABLE, f"{self.spec.field}: {found.why}")
            return self._by_policy(self.unreadable, bad, kafka_ms)
        return self._judged(found, self.spec.field, kafka_ms)

    def of_kafka(self, kafka_ms: int) -> int | BadTime:
        """The time of a record by Kafka's timestamp. Without one, `missing` can give a day."""
        if kafka_ms != NO_KAFKA_TIME:
            return self._judged(kafka_ms * 1_000, _KAFKA, kafka_ms)
        day = self.missing.stand_in
        return BadTime(TIME_MISSING, f"{_KAFKA}: none") if day is None else day

    def _by_policy(self, policy: _Policy, bad: BadTime, kafka_ms: int) -> int | BadTime:
        """The time of a record whose field gives none."""
        if policy.is_kafka:
            return self.of_kafka(kafka_ms)
        return bad if policy.stand_in is None else policy.stand_in

    def _judged(self, micros: int, origin: str, kafka_ms: int) -> int | BadTime:
        """The time itself when it is believed. Kafka's timestamp never stands in for itself."""
        if self.earliest <= micros <= self.latest:
            return micros
        if micros < self.earliest:
            bad = BadTime(TIME_TOO_EARLY, f"{origin}: a time before {self.spec.not_before}")
        else:
            limit = f"{self.spec.not_after_s:g} s after the window's time"
            bad = BadTime(TIME_TOO_LATE, f"{origin}: a time more than {limit}")
        if self.outside.is_kafka and origin == _KAFKA:
            return bad
        return self._by_policy(self.outside, bad, kafka_ms)


def event_time_of(value: object, kafka_ms: int, spec: TimeSpec, now_s: float) -> int | BadTime:
    """The event time of one record in UTC microseconds, or why it has none.

    `value` is the raw scalar of `spec.field`; None when it is absent or null. A day that a policy
    names is not checked against the limits; Kafka's timestamp is checked like any other.
    """
    rule = _rule(spec, now_s)
    return rule.of_value(value, kafka_ms) if spec.field else rule.of_kafka(kafka_ms)


def event_times(
    raw: Sequence[object | None] | pa.Array | None, kafka_ms: Micros, spec: TimeSpec, now_s: float
) -> Times:
    """The event times of a batch; `raw` None, or no field in the spec: Kafka's timestamps.

    Whole numbers may come as a column. Runs on executors, once per batch; safe to repeat and to run
    in many threads.
    """
    rule = _rule(spec, now_s)
    if raw is None or not spec.field:
        good, micros = _believed_kafka(kafka_ms, rule)
        return _with_the_rest(micros, good, lambda row: rule.of_kafka(int(kafka_ms[row])))
    if len(raw) != len(kafka_ms):
        raise ValueError(f"{len(raw)} values and {len(kafka_ms)} Kafka timestamps")
    columns = read_columns(raw, spec.unit, rule.zone)
    micros = columns.micros
    good = columns.is_read & (micros >= rule.earliest) & (micros <= rule.latest)
    _use(rule.missing, columns.missing, rule, kafka_ms, micros, good)
    if rule.unreadable != _Policy():
        open_rows = ~columns.is_read
        open_rows[columns.missing] = False
        unreadable = surely_unreadable(raw, np.flatnonzero(open_rows), spec.unit)
        _use(rule.unreadable, unreadable, rule, kafka_ms, micros, good)
    return _with_the_rest(
        micros, good, lambda row: rule.of_value(_at(raw, row), int(kafka_ms[row]))
    )


def _use(
    policy: _Policy,
    rows: NDArray[np.int64],
    rule: _Rule,
    kafka_ms: Micros,
    micros: Micros,
    good: NDArray[np.bool_],
) -> None:
    """Give some rows the time that a policy has for them, as far as it can be proven good."""
    if policy.is_kafka and rows.size:
        good[rows], micros[rows] = _believed_kafka(kafka_ms[rows], rule)
    elif policy.stand_in is not None:
        good[rows], micros[rows] = True, policy.stand_in


def _at(raw: Sequence[object | None] | pa.Array, row: int) -> object | None:
    return raw[row].as_py() if isinstance(raw, pa.Array) else raw[row]


def _believed_kafka(kafka_ms: Micros, rule: _Rule) -> tuple[NDArray[np.bool_], Micros]:
    """Which of Kafka's timestamps are there and believed, and the times they stand for."""
    first_ms, last_ms = -(-rule.earliest // 1_000), rule.latest // 1_000
    good = (kafka_ms != NO_KAFKA_TIME) & (kafka_ms >= first_ms) & (kafka_ms <= last_ms)
    return good, np.where(good, kafka_ms, 0) * 1_000


def _with_the_rest(
    micros: Micros, good: NDArray[np.bool_], time_of: Callable[[int], int | BadTime]
) -> Times:
    """Ask the specification about every row that is not proven good."""
    bad: list[BadRecord] = []
    for row in np.flatnonzero(~good).tolist():
        answer = time_of(row)
        if isinstance(answer, BadTime):
            bad.append(BadRecord(row, answer.reason, answer.detail))
            answer = 0
        micros[row] = answer
    return Times(micros, bad)


@lru_cache(maxsize=64)
def _rule(spec: TimeSpec, now_s: float) -> _Rule:
    """Make a spec ready. A spec that makes no sense raises ValueError; `config/` lets none in."""
    check_unit(spec.unit)
    zone = ZoneInfo(spec.zone)
    not_before = micros_of(spec.not_before, "iso8601", zone)
    if not isinstance(not_before, int):
        raise ValueError(f"not_before is {not_before.why}: {spec.not_before!r}")  # noqa: TRY004
    not_after_s = min(now_s + spec.not_after_s, LATEST / SECOND)
    latest = min(LATEST, math.floor(not_after_s * SECOND))
    policies = (_policy(word, zone) for word in (spec.missing, spec.unreadable, spec.outside))
    return _Rule(spec, zone, max(EARLIEST, not_before), latest, *policies)


def _policy(word: str, zone: ZoneInfo) -> _Policy:
    """A policy as it is configured: quarantine, kafka, or a day."""
    if word in {"quarantine", "kafka"}:
        return _Policy(is_kafka=word == "kafka")
    return _Policy(stand_in=midnight(date.fromisoformat(word), zone))
