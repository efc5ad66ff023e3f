"""`penstock errors`: the quarantine, by what is wrong with its records, and one by one."""

import argparse
import base64
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from penstock.audit.ledger import Ledger, open_ledger
from penstock.audit.quarantine_records import (
    Position,
    QuarantinedRecord,
    QuarantineGroup,
    groups,
    records,
    waiting_records,
)
from penstock.care.seek import Approval, unpark
from penstock.cli.common import (
    author_of,
    feed_named,
    print_rows,
    surroundings,
    with_config,
    with_output,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import printable, printable_bytes
from penstock.model.names import encode_component
from penstock.protocol.journal.acceptance import accept_next
from penstock.protocol.journal.inventory import Inventory
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.state import JournalState

SAMPLE_CHARACTERS = 60
SHOWN_RECORDS = 20


def add_list(acts: Any) -> None:
    """The words of `list`."""
    act = acts.add_parser(
        "list",
        help="group the quarantined records by what is wrong with them",
        description="One line per fingerprint: how many records, why, the first and the last of "
        "them, and a sample of the raw bytes.",
        epilog="example: penstock errors list events --output json",
    )
    act.add_argument("feed", metavar="FEED")
    with_config(act)
    with_output(act)
    act.set_defaults(command=run_list)


def add_show(acts: Any) -> None:
    """The words of `show`."""
    act = acts.add_parser(
        "show",
        help="show quarantined records whole",
        description="Show the records of one fingerprint, or one record by its position "
        "topic/partition/offset. Bytes that are no printable UTF-8 are escaped; --output json "
        "also has them exactly, in base64.",
        epilog="example: penstock errors show events events/0/1234",
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("id", metavar="ID", help="a fingerprint, or topic/partition/offset")
    act.add_argument(
        "--limit",
        type=positive,
        default=SHOWN_RECORDS,
        metavar="N",
        help=f"at most so many records (default: {SHOWN_RECORDS})",
    )
    with_config(act)
    with_output(act)
    act.set_defaults(command=run_show)


def add_accept(acts: Any) -> None:
    """The words of `accept`."""
    act = acts.add_parser(
        "accept",
        help="let the next window through, or let a stopped dataset go on",
        description="A window with more broken records than quarantine.max_ratio allows stops its "
        "feed. This lets the one next window pass; its broken records go to the quarantine. With "
        "--dataset: a dataset that stopped at records whose schema cannot be merged with its own "
        "goes on, with all that was held back; those records stay in the quarantine.",
        epilog='example: penstock errors accept events --reason "old client, fixed on Monday"',
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("--dataset", metavar="NAME", help="let this stopped dataset go on instead")
    act.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept")
    act.add_argument("--author", metavar="NAME", help="who says so (default: the login name)")
    with_config(act)
    with_output(act)
    act.set_defaults(command=run_accept)


def run_list(chosen: argparse.Namespace) -> int:
    """Print the groups, the largest first."""
    journal, state, ledger = opened(chosen)
    found = groups(journal.store, state, ledger)
    as_row = group_as_json if chosen.output == "json" else group_as_row
    print_rows([as_row(group) for group in found.shown], chosen.output)
    if not found.shown:
        tell_empty(chosen.feed)
    if found.others:
        tell(f"{found.others} smaller groups are not shown, with {found.other_records} records")
    tell_waiting(state, ledger)
    return 0


def run_show(chosen: argparse.Namespace) -> int:
    """Print the records that were asked for."""
    fits = wanted(chosen.id)
    journal, state, ledger = opened(chosen)
    found = (record for record in records(journal.store, state, ledger) if fits(record))
    shown = list(islice(found, chosen.limit))
    if not shown:
        tell_waiting(state, ledger)
        raise no_such_record(chosen.feed, repr(chosen.id))
    if chosen.output == "json":
        print_rows([record_as_json(record) for record in shown], "json")
    else:
        print("\n\n".join("\n".join(record_as_text(record)) for record in shown))
    if next(found, None) is not None:
        tell(f"there are more than these {len(shown)}; --limit shows more")
    return 0


def run_accept(chosen: argparse.Namespace) -> int:
    """Record the decision beside the journal, or in it when it is about a dataset."""
    reason, author = reason_and_author(chosen)
    journal = feed_named(chosen, chosen.feed)[2]
    state = journal.open().state
    require_started(state, chosen.feed)
    if chosen.dataset is not None:
        return let_go_on(chosen, journal, state, Approval(author, reason))
    is_new = accept_next(journal, state, author, reason, surroundings().timestamp())
    if chosen.output == "json":
        row = {"feed": chosen.feed, "windows": state.windows, "accepted": True, "new": is_new}
        print_rows([row], "json")
    elif is_new:
        print(f"the window after the first {state.windows} of {chosen.feed} may pass; run it now")
    else:
        print(f"the window after the first {state.windows} of {chosen.feed} was accepted before")
    return 0


def let_go_on(
    chosen: argparse.Namespace, journal: Journal, state: JournalState, approval: Approval
) -> int:
    """Decide that a stopped dataset goes on: by its own name, or by that of its directory."""
    names = [encode_component(chosen.dataset), chosen.dataset] if chosen.dataset else []
    dataset = next((name for name in names if name in state.stopped), None)
    if dataset is None:
        stopped = ", ".join(state.stopped) or "none"
        raise UsageMistake(
            f"Dataset {chosen.dataset!r} of feed {chosen.feed!r} is not stopped.",
            f"Nothing was changed. Stopped datasets: {stopped}.",
        )
    sealed = unpark(journal, surroundings(), dataset, approval.author, approval.reason)
    if chosen.output == "json":
        row = {"feed": chosen.feed, "dataset": dataset, "accepted": True, "entry": sealed.number}
        print_rows([row], "json")
    else:
        print(f"{chosen.dataset} goes on: `penstock run` publishes what was held back")
    return 0


def no_such_record(feed: str, what: str) -> UsageMistake:
    """What to say when a fingerprint, a position or a dataset means nothing that is there."""
    return UsageMistake(
        f"The quarantine of feed {feed!r} has no record {what}.",
        "It may have been replayed or dropped; `penstock errors list` shows what is there.",
    )


def reason_and_author(chosen: argparse.Namespace) -> tuple[str, str]:
    """Why, and who says so; both are kept, so neither may be empty."""
    reason, author = chosen.reason.strip(), author_of(chosen)
    if not reason:
        raise UsageMistake("The reason is empty.", "It is kept: say why.")
    return reason, author


def opened(chosen: argparse.Namespace) -> tuple[Journal, JournalState, Ledger]:
    """The feed that was named, folded with everything that is live in it."""
    journal = feed_named(chosen, chosen.feed)[2]
    state, ledger = open_ledger(journal)
    require_started(state, chosen.feed)
    return journal, state, ledger


def require_started(state: JournalState, feed: str) -> None:
    """Refuse a feed that has never run: it has no quarantine and no next window."""
    if state.is_new:
        raise UsageMistake(f"Nothing was delivered by feed {feed!r} yet.", "Run `penstock run`.")


def wanted(word: str) -> Callable[[QuarantinedRecord], bool]:
    """Whether a record is the one, or one of those, that the user's word means."""
    if "/" not in word:
        return lambda record: record.fingerprint == word
    position = Position.parse(word)
    if position is None:
        raise UsageMistake(
            f"{word!r} is no position.", "Write topic/partition/offset, or a fingerprint."
        )
    return lambda record: record.position == position


def group_as_row(group: QuarantineGroup) -> dict[str, object]:
    """A group as a line for people."""
    return {
        "fingerprint": group.fingerprint,
        "count": group.count,
        "reason": printable(group.reason),
        "dataset": printable(",".join(name or "-" for name in group.datasets)),
        "first": printable(str(group.first)),
        "last": printable(str(group.last)),
        "sample": printable_bytes(group.sample, SAMPLE_CHARACTERS),
    }


def group_as_json(group: QuarantineGroup) -> dict[str, object]:
    """A group for programs: the same names, with lists and numbers."""
    return {**group_as_row(group), "dataset": [name or None for name in group.datasets]}


def record_as_text(record: QuarantinedRecord) -> Iterator[str]:
    """A whole record for people, one fact a line."""
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
    """A whole record for programs, with its bytes exactly."""
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


def base64_of(data: bytes | None) -> str | None:
    """Bytes as JSON can hold them."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def positive(word: str) -> int:
    """A number of records."""
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def tell_empty(feed: str) -> None:
    """That there is nothing to look at."""
    tell(f"no record of feed {feed} is in the quarantine")


def tell_waiting(state: JournalState, ledger: Inventory) -> None:
    """Records of a window that is still being published cannot be read yet."""
    waiting = waiting_records(state, ledger)
    if waiting:
        tell(f"{waiting} more records are decided, not yet visible")


def tell(sentence: str) -> None:
    """A remark beside the data."""
    print(sentence, file=sys.stderr)
