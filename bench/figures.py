"""From turns to figures: medians, ratios, what is written down, and whether targets are reached.

Ways take turns, round after round. A ratio is taken within a round, of turns that follow each
other, and the median of the rounds counts: whatever else the machine does then falls on both.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

PLAIN, OURS, READ_ONLY = "plain_spark", "penstock", "read_only"
# What Penstock does with other records: the same ones in JSON or Avro, the same without a fault.
ON_JSON, ON_AVRO, ON_WHOLE = "penstock_json", "penstock_avro", "penstock_whole"
# How Spark writes many directories: sorted, one open file at a time; or up to so many open files.
WRITERS = (0, 100)
PLAIN_TARGET = 2.5
AVRO_TARGET = 2.2
PROTOBUF_TARGET = 1.0
PROTOBUF_SHAPE_TARGET = 0.8
BROKEN_TARGET = 1.3
READ_ONLY_TARGET = 0.30
MANY_TYPES_TARGET = 1.6
NEVER_SLOWER = 1.0


@dataclass(frozen=True)
class Turn:
    """What one turn of a way took and left."""

    records: int
    elapsed_s: float
    cpu_s: float
    peak_rss_bytes: int
    files: int = 0
    file_bytes: int = 0
    phases_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def per_s(self) -> float:
        """Records per second."""
        return self.records / self.elapsed_s

    @property
    def per_cpu_s(self) -> float:
        """Records per second of processor time."""
        return self.records / self.cpu_s


Turns = Sequence[Turn]


@dataclass(frozen=True)
class Verdict:
    """A target, and what was found."""

    what: str
    found: float
    target: float
    is_reached: bool

    def __str__(self) -> str:
        word = "reached" if self.is_reached else "MISSED"
        return f"{self.what:62} {self.found:5.2f}  target {self.target:4.2f}  {word}"


def by_time(turn: Turn) -> float:
    """Speed by the clock."""
    return turn.per_s


def by_cpu(turn: Turn) -> float:
    """Speed by processor time."""
    return turn.per_cpu_s


def ratio(ours: Turns, others: Turns, speed: Callable[[Turn], float] = by_time) -> float:
    """How many times as fast: the median of the rounds' ratios."""
    pairs = zip(ours, others, strict=True)
    return statistics.median(speed(mine) / speed(other) for mine, other in pairs)


def variant(writers: int) -> str:
    """The name of plain Spark with a setting of its own."""
    return f"{PLAIN}_{writers}_writers"


def better_plain(turns: Mapping[str, Turns]) -> str:
    """The variant of plain Spark with the higher median speed."""
    variants = [name for name in map(variant, WRITERS) if name in turns]
    return max(variants, key=lambda name: statistics.median(map(by_time, turns[name])))


def medians(turns: Turns) -> dict[str, object]:
    """The figures of a way."""
    found: dict[str, object] = {
        "records_per_s": round(statistics.median(map(by_time, turns))),
        "records_per_cpu_s": round(statistics.median(map(by_cpu, turns))),
        "peak_rss_bytes": round(statistics.median(turn.peak_rss_bytes for turn in turns)),
        "files": round(statistics.median(turn.files for turn in turns)),
        "file_bytes": round(statistics.median(turn.file_bytes for turn in turns)),
        "rounds_records_per_s": [round(turn.per_s) for turn in turns],
    }
    if any(turn.phases_s for turn in turns):
        phases = list(dict.fromkeys(phase for turn in turns for phase in turn.phases_s))
        found["phases_s"] = {
            phase: round(statistics.median(turn.phases_s.get(phase, 0.0) for turn in turns), 3)
            for phase in phases
        }
    return found


def workload_result(turns: Mapping[str, Turns]) -> dict[str, object]:
    """All figures of a workload. The better variant of plain Spark counts as plain Spark."""
    best = better_plain(turns)
    ours, plain, reading = turns[OURS], turns[best], turns[READ_ONLY]
    return {
        PLAIN: {**medians(plain), "variant": best},
        OURS: medians(ours),
        READ_ONLY: medians(reading),
        "ratio_plain_spark": round(ratio(ours, plain), 3),
        "ratio_plain_spark_cpu": round(ratio(ours, plain, by_cpu), 3),
        "ratio_read_only": round(ratio(ours, reading), 3),
        "ratio_read_only_cpu": round(ratio(ours, reading, by_cpu), 3),
        # A list: every mapping in a workload is a way.
        "variants": [
            {"variant": name, **medians(turns[name])}
            for name in map(variant, WRITERS)
            if name in turns
        ],
        "records": ours[0].records,
        "rounds": len(ours),
    }


def protobuf_result(turns: Mapping[str, Turns], other: str = ON_JSON) -> dict[str, object]:
    """The figures of Protobuf beside those of the same records in another format, and reading."""
    ours, others, reading = turns[OURS], turns[other], turns[READ_ONLY]
    form = other.removeprefix(f"{OURS}_")
    return {
        OURS: medians(ours),
        other: medians(others),
        READ_ONLY: medians(reading),
        f"ratio_{form}": round(ratio(ours, others), 3),
        f"ratio_{form}_cpu": round(ratio(ours, others, by_cpu), 3),
        "ratio_read_only": round(ratio(ours, reading), 3),
        "ratio_read_only_cpu": round(ratio(ours, reading, by_cpu), 3),
        "records": ours[0].records,
        "rounds": len(ours),
    }


def broken_result(turns: Mapping[str, Turns]) -> dict[str, object]:
    """The figures of a topic with faults beside those of the same one without; ratios of cost."""
    ours, whole = turns[OURS], turns[ON_WHOLE]
    return {
        OURS: medians(ours),
        ON_WHOLE: medians(whole),
        "ratio_time_per_record": round(ratio(whole, ours), 3),
        "ratio_cpu_time_per_record": round(ratio(whole, ours, by_cpu), 3),
        "records": ours[0].records,
        "rounds": len(ours),
    }


def format_verdict(form: str, types: int, turns: Mapping[str, Turns]) -> Verdict:
    """The target of a workload of `make bench-formats`, by time."""
    ours, head = turns[OURS], f"{form}, {types} types:"
    if form == "broken":
        slower = ratio(turns[ON_WHOLE], ours)
        what = f"{head} times the time per record without faults, at most"
        return Verdict(what, slower, BROKEN_TARGET, slower <= BROKEN_TARGET)
    if form == "protobuf":
        return _at_least(f"{head} times JSON", ratio(ours, turns[ON_JSON]), PROTOBUF_TARGET)
    target = AVRO_TARGET if form == "avro" else PLAIN_TARGET
    return _at_least(f"{head} times plain Spark", ratio(ours, turns[better_plain(turns)]), target)


def shape_verdicts(name: str, target: float, turns: Mapping[str, Turns]) -> list[Verdict]:
    """The targets of a workload of `make bench-shapes`: its own, and never slower by time.

    One that plain Spark cannot read has its own target only, against the same records in Avro.
    """
    ours = turns[OURS]
    if ON_AVRO in turns:
        found = ratio(ours, turns[ON_AVRO], by_cpu)
        return [_at_least(f"{name}: times Avro by processor time", found, target)]
    plain = turns[better_plain(turns)]
    what = f"{name}: times plain Spark by processor time"
    return [
        _at_least(what, ratio(ours, plain, by_cpu), target),
        _at_least(f"{name}: times plain Spark by time", ratio(ours, plain), NEVER_SLOWER),
    ]


def workload_name(types: int) -> str:
    """How a workload is called in results."""
    return f"{types}_types"


def verdicts(turns: Mapping[int, Mapping[str, Turns]]) -> list[Verdict]:
    """Every target, by workload; a workload is known by its number of types."""
    found = []
    for types, ways in turns.items():
        ours, plain = ways[OURS], ways[better_plain(ways)]
        for words, speed in (("by time", by_time), ("by processor time", by_cpu)):
            what = f"{types} types: times plain Spark {words}"
            found.append(_at_least(what, ratio(ours, plain, speed), PLAIN_TARGET))
        what = f"{types} types: share of reading only, by time"
        found.append(_at_least(what, ratio(ours, ways[READ_ONLY]), READ_ONLY_TARGET))
    if len(turns) > 1:
        few, many = min(turns), max(turns)
        slower = ratio(turns[few][OURS], turns[many][OURS])
        what = f"{many} types: times the time per record of {few}, at most"
        found.append(Verdict(what, slower, MANY_TYPES_TARGET, slower <= MANY_TYPES_TARGET))
    return found


def _at_least(what: str, found: float, target: float) -> Verdict:
    return Verdict(what, found, target, found >= target)
