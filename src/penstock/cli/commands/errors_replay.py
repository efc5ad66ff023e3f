"""`penstock errors replay` and `drop`: deliver quarantined records, or give them up."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from penstock.audit.quarantine_records import records
from penstock.care.fixed_file import open_fixed_file
from penstock.care.fixed_records import FixedRecords
from penstock.care.replay import drop, live_records
from penstock.care.replay_feed import Replayed, ReplayRequest, ReplayTools, replay_feed
from penstock.cli.approval import approval_of
from penstock.cli.audit_progress import Ticker
from penstock.cli.client_settings import registry_of
from penstock.cli.commands.errors_list import (
    no_such_record,
    open_quarantine,
    require_started,
    tell,
    tell_empty,
    tell_waiting,
    wanted,
)
from penstock.cli.commands.run import starting_session
from penstock.cli.common import (
    author_of,
    feed_named,
    print_rows,
    surroundings,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.first_compilation import tell_compiling
from penstock.cli.quarantine_arguments import datasets_named, named_records, require_words
from penstock.config.convert_section import reveal_keys
from penstock.datapath.schemas.learning import Learning
from penstock.errors import EntryRefused
from penstock.model.broken_groups import BrokenGroup
from penstock.model.manifest import RecordSet
from penstock.model.plural import are, number_of
from penstock.model.ranges import OffsetSet
from penstock.model.spec import LakeSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.inventory import RecordsKey
from penstock.spark.parallel_map import SparkParallelMap


def run_replay(chosen: argparse.Namespace) -> int:
    """Deliver what can be delivered, and print what stays and why."""
    require_words(chosen, "replay")
    _require_agreement(chosen)
    author = author_of(chosen)
    spec, feed, journal = feed_named(chosen, chosen.feed)
    fold = journal.open(deep=True)
    require_started(fold.state, chosen.feed)
    fixed = None
    if chosen.fixed is not None:
        fixed = _fixed_records(chosen, journal, fold)
        if not chosen.execute or not fixed.count:
            return _tell_fixed(chosen, fixed)

    def open_learning() -> Learning:
        keys = reveal_keys([feed], os.environ)
        return Learning(journal.store, journal.layout, feed, registry_of(spec), keys)

    tools = ReplayTools(feed, surroundings(), open_learning, partial(parallel_on_spark, spec))
    datasets = datasets_named(chosen.dataset)
    request = ReplayRequest(author, chosen.fingerprint or "", datasets, fixed)
    done = replay_feed(journal, fold, request, tools)
    if done.is_untried:
        _tell_untried(chosen, fold, done.refused)
    _tell_replayed(chosen, done, fixed)
    for dataset in done.held_back:
        tell(f"{dataset} is parked or stopped: its records become visible when it goes on")
    return 0


def _require_agreement(chosen: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if chosen.fixed is None:
        given = [name for name in ("execute", "reason") if getattr(chosen, name)]
        if given:
            raise UsageMistake(
                f"--{given[0]} is only for --fixed.",
                "Nothing was changed. Without --fixed a replay changes no record, and needs none.",
            )
    elif chosen.fingerprint is not None or chosen.dataset is not None:
        raise UsageMistake(
            "--fixed does not go with --fingerprint or --dataset.",
            "Nothing was changed. The lines of the file say which records are meant.",
        )
    elif chosen.execute and not chosen.reason.strip():
        raise UsageMistake(
            "--execute needs a --reason.",
            "Nothing was changed. The reason is recorded with the author, so give one.",
        )


def _fixed_records(
    chosen: argparse.Namespace, journal: FeedJournal, fold: FeedFold
) -> FixedRecords:
    """The corrected records of the file, compared with those of the quarantine."""
    file = open_fixed_file(chosen.fixed, live_records(fold))
    fixed = FixedRecords(file, chosen.reason.strip(), journal.store, journal.layout)
    fixed.compare(fold)
    if fixed.unchanged:
        count = len(fixed.unchanged)
        first = ", ".join(map(str, fixed.unchanged[:10])) + (", ..." if count > 10 else "")
        whats, verb = number_of(count, "record"), are(count)
        lines = "line" if count == 1 else "lines"
        tell(f"{whats} {verb} unchanged and {verb} left in the quarantine: {lines} {first}")
    return fixed


def _tell_fixed(chosen: argparse.Namespace, fixed: FixedRecords) -> int:
    """Print what would be done, or that there is nothing to do."""
    if chosen.output == "json":
        row = {
            "feed": chosen.feed,
            "corrected": fixed.count,
            "unchanged": len(fixed.unchanged),
            "delivered": 0,
            "executed": False,
        }
        print_rows([row], "json")
    elif fixed.count:
        records = number_of(fixed.count, "corrected record")
        print(f"{records} of {chosen.feed} would be decoded and delivered")
        tell("nothing was changed; add --execute and --reason to deliver them")
    else:
        print(f"no record of {chosen.feed} is corrected by {chosen.fixed}; nothing was changed")
    return 0


def _tell_untried(chosen: argparse.Namespace, fold: FeedFold, refused: EntryRefused | None) -> None:
    """Report that there was nothing to decode. It is an error only if records were named."""
    if fold.inventory is not None:
        tell_waiting(fold.state, fold.inventory)
    if named_records(chosen):
        raise no_such_record(chosen.feed, named_records(chosen))
    if refused is not None:
        raise refused
    tell_empty(chosen.feed)


def run_drop(chosen: argparse.Namespace) -> int:
    """Show which records are meant; with --execute record that they are given up."""
    approval = approval_of(chosen)
    _, _, journal = feed_named(chosen, chosen.feed)
    found = records_meant(journal, chosen.id, chosen.topic_id)
    count = sum(len(each.offsets) for each in found)
    if not count:
        raise no_such_record(chosen.feed, repr(chosen.id))
    entry = None
    if approval is not None:
        entry = drop(journal, surroundings(), found, approval.author, approval.reason).number
    if chosen.output == "json":
        dropped = 0 if entry is None else count
        row = {"feed": chosen.feed, "records": count, "dropped": dropped, "entry": entry}
        print_rows([row], "json")
    elif entry is None:
        print(f"{number_of(count, 'record')} of {chosen.feed} would be given up")
        wanted = "--execute" if chosen.reason.strip() else "--reason and --execute"
        tell(f"nothing was changed; add {wanted} to give {'it' if count == 1 else 'them'} up")
    else:
        print(f"{_are(count, chosen.feed)} given up, by entry {entry}")
    return 0


def records_meant(
    journal: FeedJournal, word: str, topic_id: str | None = None
) -> tuple[RecordSet, ...]:
    """The live records of a fingerprint or a position, as the journal names them.

    With a topic id, only the records of that topic id.
    """
    fits = wanted(word)
    state, inventory = open_quarantine(journal)
    offsets: dict[RecordsKey, list[int]] = {}
    for record in records(journal.store, state, inventory):
        if fits(record) and topic_id in (None, record.topic_id):
            at = record.position
            place = (at.topic, record.topic_id, at.partition, record.dataset, record.row)
            offsets.setdefault(place, []).append(at.offset)
    _require_one_life(word, {place[1] for place in offsets})
    return tuple(
        RecordSet(topic, life, partition, dataset, OffsetSet.of(found), row)
        for (topic, life, partition, dataset, row), found in offsets.items()
    )


def _require_one_life(word: str, ids: set[str]) -> None:
    """Refuse an ambiguous position: a topic that was created again has two topic ids."""
    if "" in ids:
        raise UsageMistake(
            f"{word!r} means records whose topic id is not known.",
            "Nothing was given up. Their file was rewritten, and their topic was created again.",
        )
    if "/" in word and len(ids) > 1:
        raise UsageMistake(
            f"{word!r} is the position of several records: their topic was created again.",
            f"Nothing was given up. Name one: --topic-id {' or --topic-id '.join(sorted(ids))}; "
            "`penstock errors show` shows them.",
        )


def _tell_replayed(chosen: argparse.Namespace, done: Replayed, fixed: FixedRecords | None) -> None:
    stays = dict(done.stays.most_common())
    if chosen.output == "json":
        row = {
            "feed": chosen.feed,
            "delivered": done.delivered,
            "entry": done.entries[0] if done.entries else None,
            "entries": done.entries,
            "stays": stays,
            "why": [_why(group) for group in done.broken],
        }
        if fixed is not None:
            counts = {"corrected": fixed.count, "unchanged": len(fixed.unchanged)}
            row |= {**counts, "executed": True}
        print_rows([row], "json")
        return
    where = f", by entry {' and '.join(map(str, done.entries))}" if done.entries else ""
    what = "record" if fixed is None else "corrected record"
    print(f"{_are(done.delivered, chosen.feed, what)} delivered{where}")
    _tell_stays(done)


def _tell_stays(done: Replayed) -> None:
    """Print why records stay, as they were decoded now; `errors list` shows why they came."""
    left = Counter(done.stays)
    for group in map(_why, done.broken):
        left[group["reason"]] -= group["records"]
        detail = f", {group['detail']}" if group["detail"] else ""
        first = "at" if group["records"] == 1 else "the first at"
        why = f"{group['reason']}{detail}; {first} {group['first']}"
        tell(f"{_stay(group['records'])} in the quarantine: {why}")
    for reason, count in left.most_common():
        if count > 0:
            tell(f"{_stay(count)} in the quarantine: {reason}")


def _why(group: BrokenGroup) -> dict[str, Any]:  # Any: a row of the output
    return {
        "reason": group.reason,
        "detail": group.samples[0].detail if group.samples else "",
        "records": group.count,
        "first": str(group.first),
    }


def _stay(count: int) -> str:
    return f"{number_of(count, 'record')} {'stays' if count == 1 else 'stay'}"


@contextmanager
def parallel_on_spark(spec: LakeSpec) -> Iterator[SparkParallelMap]:
    """Spark, for the time of the replay."""
    tell_compiling()
    session = starting_session(spec, "replay")
    try:
        yield SparkParallelMap(session.get, Ticker(sys.stderr, time.monotonic))
    finally:
        session.stop()


def _are(count: int, feed: str, what: str = "record") -> str:
    return f"{number_of(count, what)} of {feed} {are(count)}"
