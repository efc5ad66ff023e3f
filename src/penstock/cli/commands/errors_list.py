"""`penstock errors list`, `show` and `accept`."""

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import islice

from penstock.audit.quarantine_records import (
    QuarantinedRecord,
    QuarantineGroup,
    groups,
    records,
    waiting_records,
)
from penstock.care.seek import Approval, unpark
from penstock.cli.commands.errors_halted import (
    range_as_json,
    ranges_as_text,
    refused_ranges,
    run_list_halted,
)
from penstock.cli.commands.errors_values import SAMPLE_CHARACTERS, base64_of, group_facts
from penstock.cli.common import (
    TAKEN_UP,
    author_of,
    dataset_among,
    feed_named,
    print_rows,
    surroundings,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import printable, printable_bytes
from penstock.model.plural import number_of
from penstock.model.record_position import Position
from penstock.protocol.feed_book.acceptance import accept_next
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.halted_objects import shown_halted
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.shard_names import of_quarantine
from penstock.protocol.feed_book.state import FeedState


def run_list(chosen: argparse.Namespace) -> int:
    """Print the groups, the largest first."""
    if chosen.halted:
        return run_list_halted(chosen)
    journal, state, inventory = opened(chosen)
    found = groups(journal.store, state, inventory)
    as_row = group_as_json if chosen.output == "json" else group_as_row
    print_rows([as_row(group) for group in found.shown], chosen.output)
    if not found.shown:
        tell_empty(chosen.feed)
    if found.others:
        left = number_of(found.others, "smaller group")
        tell(f"not shown: {left}, with {number_of(found.other_records, 'record')}")
    tell_waiting(state, inventory)
    halted = shown_halted(journal, state)
    if halted is not None:
        refused = " and what would be quarantined" if halted.groups else ""
        tell(
            f"feed {chosen.feed} is halted with {halted.code}: "
            f"`penstock errors list {chosen.feed} --halted` shows why{refused}"
        )
    return 0


def run_show(chosen: argparse.Namespace) -> int:
    """Print the records that were asked for."""
    fits = wanted(chosen.id)
    journal, state, inventory = opened(chosen)
    found = (record for record in records(journal.store, state, inventory) if fits(record))
    shown = list(islice(found, chosen.limit))
    if not shown:
        tell_waiting(state, inventory)
        raise no_such_record(chosen.feed, repr(chosen.id))
    if chosen.output == "json":
        print_rows([record_as_json(record) for record in shown], "json")
    else:
        print("\n\n".join("\n".join(record_as_text(record)) for record in shown))
    if next(found, None) is not None:
        first = "first is" if len(shown) == 1 else f"first {len(shown)} are"
        tell(f"only the {first} shown; use --limit to see more")
    return 0


def run_accept(chosen: argparse.Namespace) -> int:
    """Record the decision: an object for a window, a journal entry for a dataset."""
    reason, author = reason_and_author(chosen)
    journal = feed_named(chosen, chosen.feed)[2]
    state = journal.open().state
    require_started(state, chosen.feed)
    if chosen.dataset is not None:
        return let_go_on(chosen, journal, state, Approval(author, reason))
    ranges = refused_ranges(chosen.feed, journal, state)
    is_new = accept_next(journal, state, author, reason, surroundings().timestamp(), ranges)
    if chosen.output == "json":
        row = {"feed": chosen.feed, "windows": state.windows, "accepted": True, "new": is_new}
        print_rows([{**row, "ranges": list(map(range_as_json, ranges))}], "json")
    elif is_new:
        of = f"{chosen.feed}: {printable(ranges_as_text(ranges))}" if ranges else chosen.feed
        print(f"accepted: window number {state.windows + 1} of {of}; {TAKEN_UP}")
    else:
        print(f"window number {state.windows + 1} of {chosen.feed} was accepted before")
    return 0


def let_go_on(
    chosen: argparse.Namespace, journal: FeedJournal, state: FeedState, approval: Approval
) -> int:
    """Accept a stopped dataset, named by its own name or by its directory."""
    dataset = dataset_among(chosen.dataset, state.stopped)
    if dataset is None:
        stopped = ", ".join(state.stopped) or "none"
        raise UsageMistake(
            f"Dataset {chosen.dataset!r} of feed {chosen.feed!r} is not stopped.",
            f"Nothing was changed. Stopped datasets: {stopped}.",
        )
    author, reason = approval.author, approval.reason
    sealed = unpark(journal, surroundings(), dataset, author, reason, stopped=True)
    if chosen.output == "json":
        row = {"feed": chosen.feed, "dataset": dataset, "accepted": True, "entry": sealed.number}
        print_rows([row], "json")
    else:
        print(f"{chosen.dataset} is accepted, what was held back is published: {TAKEN_UP}")
    return 0


def no_such_record(feed: str, what: str) -> UsageMistake:
    """The error for a fingerprint, position or dataset without records in the quarantine."""
    return UsageMistake(
        f"The quarantine of feed {feed!r} has no record {what}.",
        "They may have been replayed or dropped; `penstock errors list` shows what is there.",
    )


def reason_and_author(chosen: argparse.Namespace) -> tuple[str, str]:
    """The reason and the author; both are recorded, so neither may be empty."""
    reason, author = chosen.reason.strip(), author_of(chosen)
    if not reason:
        raise UsageMistake(
            "The reason is empty.", "Nothing was changed. The reason is recorded, so give one."
        )
    return reason, author


def opened(chosen: argparse.Namespace) -> tuple[FeedJournal, FeedState, Inventory]:
    """The feed's journal, its state, and everything that is live in its quarantine."""
    journal = feed_named(chosen, chosen.feed)[2]
    state, inventory = open_quarantine(journal)
    require_started(state, chosen.feed)
    return journal, state, inventory


def open_quarantine(journal: FeedJournal) -> tuple[FeedState, Inventory]:
    """The state of a feed, and the part of its inventory that is about the quarantine."""
    fold = journal.open_partial(of_quarantine)
    return fold.state, fold.inventory or Inventory()


def require_started(state: FeedState, feed: str) -> None:
    """Refuse a feed that has never run: it has no quarantine and no next window."""
    if state.is_new:
        raise UsageMistake(
            f"Nothing was delivered by feed {feed!r} yet.", "Run `penstock run` first."
        )


def wanted(word: str) -> Callable[[QuarantinedRecord], bool]:
    """A test for the records that a fingerprint or a position means."""
    if "/" not in word:
        return lambda record: record.fingerprint == word
    position = Position.parse(word)
    if position is None:
        raise UsageMistake(
            f"{word!r} is not a position.", "Write topic/partition/offset, or a fingerprint."
        )
    return lambda record: record.position == position


def group_as_row(group: QuarantineGroup) -> dict[str, object]:
    """A group as a row of text."""
    return {**group_facts(group), "sample": printable_bytes(group.sample, SAMPLE_CHARACTERS)}


def group_as_json(group: QuarantineGroup) -> dict[str, object]:
    """A group for JSON: the same names, with lists and numbers."""
    return {**group_as_row(group), "dataset": [name or None for name in group.datasets]}


def record_as_text(record: QuarantinedRecord) -> Iterator[str]:
    """A complete record as text, one field per line."""
    yield f"position     {printable(str(record.position))}"
    yield f"topic id     {printable(record.topic_id) or '-'}"
    yield f"time         {record.time}"
    yield f"fingerprint  {printable(record.fingerprint)}"
    yield f"reason       {printable(record.reason)}"
    yield f"detail       {printable(record.detail)}"
    yield f"dataset      {printable(record.dataset) or '-'}"
    yield f"team         {printable(record.team) or '-'}"
    yield f"key          {printable_bytes(record.key)}"
    yield f"headers      {printable(record.headers or '-')}"
    yield f"value        {printable_bytes(record.value)}"


def record_as_json(record: QuarantinedRecord) -> dict[str, object]:
    """A complete record for JSON, with its exact bytes."""
    return {
        "topic": record.position.topic,
        "topic_id": record.topic_id or None,
        "partition": record.position.partition,
        "offset": record.position.offset,
        "time": record.time,
        "fingerprint": record.fingerprint,
        "reason": record.reason,
        "detail": record.detail,
        "dataset": record.dataset or None,
        "team": record.team or None,
        "headers": record.headers,
        "key": None if record.key is None else printable_bytes(record.key),
        "key_base64": base64_of(record.key),
        "value": None if record.value is None else printable_bytes(record.value),
        "value_base64": base64_of(record.value),
    }


def tell_empty(feed: str) -> None:
    """Print that the quarantine is empty."""
    tell(f"no record of feed {feed} is in the quarantine")


def tell_waiting(state: FeedState, inventory: Inventory) -> None:
    """Print how many records cannot be read yet, because their window is still being published."""
    waiting = waiting_records(state, inventory)
    if waiting:
        tell(f"decided but not yet visible: {number_of(waiting, 'more record')}")


def tell(sentence: str) -> None:
    """Print a remark on stderr."""
    print(sentence, file=sys.stderr)
