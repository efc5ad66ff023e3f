"""What the API says about feeds, as plain JSON. No value of a record is in it."""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from penstock.serve.brief_entries import BriefEntry
from penstock.serve.feed_facts import DatasetFacts, FeedFacts, LakeFacts

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

# Long, or about payloads: these are for `penstock status --stats`.
_LEFT_OUT = ("ways", "kept", "learned_datasets", "learned_topics", "compaction_debt")
_LONG = ("partitions", "watermark", "schemas")


def feeds_json(lake: LakeFacts) -> Json:
    """All feeds in brief, with those that cannot be read."""
    feeds: list[Json] = [_status(facts, (*_LEFT_OUT, *_LONG)) for facts in lake.feeds]
    return {
        "at_s": lake.at_s,
        "lake": lake.lake or None,
        "feeds": [each for each in feeds if _name(each) not in lake.unreadable]
        + [
            {"feed": name, "state": "unreadable", "why": why}
            for name, why in sorted(lake.unreadable.items())
        ],
    }


def feed_json(facts: FeedFacts) -> Json:
    """One feed in full."""
    found = _status(facts, _LEFT_OUT)
    more: dict[str, Json] = {
        "datasets": [_dataset(each, facts) for each in facts.datasets],
        "dataset_spread_records": sum(facts.spread.values()),
        "last_done_s": facts.last_done_s,
        "task_s": facts.task_s,
        "cost": facts.cost,
        "currency": facts.currency if facts.cost is not None else None,
        "retention_headroom_s": facts.headroom_s if facts.knows_ends else None,
        "retention_headroom_records": facts.headroom_records if facts.knows_ends else None,
        "lag_is_current": facts.knows_ends,
    }
    return {**found, **more}


def windows_json(facts: FeedFacts, entries: Iterable[BriefEntry]) -> Json:
    """The last windows, the newest first."""
    return {"feed": facts.feed, "windows": [_window(each) for each in entries]}


def _name(found: Json) -> Json:
    return found["feed"] if isinstance(found, dict) else None


def _status(facts: FeedFacts, without: Iterable[str]) -> dict[str, Json]:
    found: dict[str, Json] = msgspec.to_builtins(facts.status, str_keys=True)
    return {name: value for name, value in found.items() if name not in without}


def _dataset(each: DatasetFacts, facts: FeedFacts) -> Json:
    decided = facts.decided
    visible = sum(min(each.hidden.get(at, end), end) for at, end in decided.items())
    return {
        "dataset": each.name,
        "rows": each.spent.rows,
        "files": each.files,
        "bytes": each.spent.written_bytes,
        "visible_offset": visible,
        "decided_offset": sum(decided.values()),
        "freshness_s": each.freshness_s,
        "schema": facts.status.schemas.get(each.name),
        "parked": facts.status.parked.get(each.name),
    }


def _window(entry: BriefEntry) -> Json:
    body, cost = entry.body, entry.body.cost
    spent = cost.datasets if cost is not None else ()
    return {
        "window": body.window,
        "entry": entry.number,
        "at": entry.at,
        "epoch": entry.epoch,
        "read": body.counts.read,
        "written": body.counts.written,
        "quarantined": body.counts.quarantined,
        "filtered": body.counts.filtered,
        "read_bytes": body.counts.read_bytes,
        "elapsed_s": None if cost is None else cost.elapsed_ms / 1000,
        "task_s": None if cost is None else sum(each.task_us for each in spent) / 1e6,
        "files": None if cost is None else sum(each.files for each in spent),
        "written_bytes": None if cost is None else sum(each.written_bytes for each in spent),
        "ranges": [
            {"topic": r.topic, "partition": r.partition, "start": r.start, "end": r.end}
            for r in body.ranges
        ],
    }
