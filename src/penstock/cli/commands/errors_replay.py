"""`penstock errors replay` and `drop`: deliver quarantined records, or give them up."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from penstock.audit.ledger import open_ledger
from penstock.audit.quarantine_records import records
from penstock.care.replay import drop
from penstock.care.replay_feed import Replayed, ReplayRequest, ReplayTools, replay_feed
from penstock.cli.audit_progress import Ticker
from penstock.cli.commands.errors_list import (
    no_such_record,
    reason_and_author,
    require_started,
    tell,
    tell_empty,
    tell_waiting,
    wanted,
)
from penstock.cli.commands.run import registry_of, starting_session
from penstock.cli.common import (
    author_of,
    feed_named,
    print_rows,
    surroundings,
)
from penstock.cli.errors import UsageMistake
from penstock.config.convert_section import reveal_keys
from penstock.datapath.schemas.learning import Learning
from penstock.errors import EntryRefused
from penstock.model.manifest import RecordSet
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetSet
from penstock.model.spec import LakeSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.inventory import RecordsKey
from penstock.spark.parallel_map import SparkParallelMap


def run_replay(chosen: argparse.Namespace) -> int:
    """Deliver what can be delivered, and print what stays and why."""
    author, datasets = _require_words(chosen), _datasets_named(chosen.dataset)
    spec, feed, journal = feed_named(chosen, chosen.feed)
    fold = journal.open(deep=True)
    require_started(fold.state, chosen.feed)

    def open_learning() -> Learning:
        keys = reveal_keys([feed], os.environ)
        return Learning(journal.store, journal.layout, feed, registry_of(spec), keys)

    tools = ReplayTools(feed, surroundings(), open_learning, partial(parallel_on_spark, spec))
    request = ReplayRequest(author, chosen.fingerprint or "", datasets)
    done = replay_feed(journal, fold, request, tools)
    if done.is_untried:
        _tell_untried(chosen, fold, done.refused)
    _tell_replayed(chosen, done)
    for dataset in done.held_back:
        tell(f"{dataset} is parked or stopped: its records become visible when it goes on")
    return 0


def _require_words(chosen: argparse.Namespace) -> str:
    """Refuse empty arguments, such as an unset variable of a script; returns the author.

    An empty fingerprint would otherwise mean everything.
    """
    for option in ("fingerprint", "dataset"):
        if getattr(chosen, option) == "":
            raise UsageMistake(
                f"--{option} is empty.",
                "Leave it out to replay all records; --dataset - means those of no dataset.",
            )
    return author_of(chosen)


def _datasets_named(word: str | None) -> frozenset[str] | None:
    """The directories that a dataset's name means; `-` means records without a dataset."""
    if word is None:
        return None
    directory = encode_component(word)
    return frozenset({"", directory} if word == "-" else {directory})


def _tell_untried(chosen: argparse.Namespace, fold: FeedFold, refused: EntryRefused | None) -> None:
    """Report that there was nothing to decode. It is an error only if records were named."""
    if fold.inventory is not None:
        tell_waiting(fold.state, fold.inventory)
    options = {"with fingerprint": chosen.fingerprint, "of dataset": chosen.dataset}
    named = [f"{what} {word!r}" for what, word in options.items() if word is not None]
    if named:
        raise no_such_record(chosen.feed, " ".join(named))
    if refused is not None:
        raise refused
    tell_empty(chosen.feed)


def run_drop(chosen: argparse.Namespace) -> int:
    """Record that the records are given up."""
    reason, author = reason_and_author(chosen)
    _, _, journal = feed_named(chosen, chosen.feed)
    found = records_meant(journal, chosen.id, chosen.topic_id)
    count = sum(len(each.offsets) for each in found)
    if not count:
        raise no_such_record(chosen.feed, repr(chosen.id))
    sealed = drop(journal, surroundings(), found, author, reason)
    if chosen.output == "json":
        print_rows([{"feed": chosen.feed, "dropped": count, "entry": sealed.number}], "json")
    else:
        print(f"{count} records of {chosen.feed} are given up, by entry {sealed.number}")
    return 0


def records_meant(
    journal: FeedJournal, word: str, topic_id: str | None = None
) -> tuple[RecordSet, ...]:
    """The live records of a fingerprint or a position, as the journal names them.

    With a topic id, only the records of that topic id.
    """
    fits = wanted(word)
    state, ledger = open_ledger(journal)
    offsets: dict[RecordsKey, list[int]] = {}
    for record in records(journal.store, state, ledger):
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


def _tell_replayed(chosen: argparse.Namespace, done: Replayed) -> None:
    stays = dict(done.stays.most_common())
    if chosen.output == "json":
        row = {
            "feed": chosen.feed,
            "delivered": done.delivered,
            "entry": done.entries[0] if done.entries else None,
            "entries": done.entries,
            "stays": stays,
        }
        print_rows([row], "json")
        return
    where = f", by entry {' and '.join(map(str, done.entries))}" if done.entries else ""
    print(f"{done.delivered} records of {chosen.feed} are delivered{where}")
    for reason, count in stays.items():
        tell(f"{count} stay in the quarantine: {reason}")


@contextmanager
def parallel_on_spark(spec: LakeSpec) -> Iterator[SparkParallelMap]:
    """Spark, for the time of the replay."""
    session = starting_session(spec, "replay")
    try:
        yield SparkParallelMap(session.get, Ticker(sys.stderr, time.monotonic))
    finally:
        session.stop()
