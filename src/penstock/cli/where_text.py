"""The answers of `penstock where` as lines of text."""

from collections.abc import Iterator
from typing import assert_never

from penstock.cli.printable import printable
from penstock.model.plural import number_of
from penstock.status.whereabouts import (
    Backup,
    EntryFacts,
    FilePlace,
    FileWhereabouts,
    QuarantinePlace,
    Whereabouts,
)

_DONE = {
    "compact": "compacted",
    "generation": "replaced by a new generation",
    "retire": "retired",
    "replay": "replayed",
    "drop": "dropped",
    "gap": "accepted as a gap",
    "seek": "skipped",
}


def record_lines(found: Whereabouts, *, with_id: bool) -> list[str]:
    """What became of a record: the answer first, then how it is known.

    The topic's id tells answers apart if the topic was created again.
    """
    place = f"{found.topic}/{found.partition}/{found.offset}"
    lines = [f"{place}: {_answer(found)}"]
    if found.decided_by is not None:
        lines.append(f"  {entry_text(found.decided_by)}")
    if with_id:
        lines.append(f"  topic id {found.topic_id}")
    for each in found.quarantined:
        lines += _quarantine_lines(each)
    for row in found.rows:
        lines += _row_lines(row)
    return [printable(line) for line in lines]


def _answer(found: Whereabouts) -> str:
    match found.fate:
        case "delivered" | "quarantined" | "retired":
            return found.fate
        case "untold":
            return "delivered to one of these files, or filtered; their rows do not say which"
        case "filtered":
            return "filtered by a rule of the configuration, and counted"
        case "no_record":
            return "Kafka had no record at this offset"
        case "given_up":
            return "given up"
        case "missing":
            return "it should be in a file, and is not; run `penstock audit --deep`"
        case "not_read":
            return f"not read yet; the next offset to read is {found.watermark}"
        case "before_start":
            return "never read: the feed began after it"
        case "never_read":
            return "the feed has never read this partition"
        case _ as never:
            assert_never(never)


def entry_text(entry: EntryFacts) -> str:
    """An entry in a few words."""
    window = f"window {entry.window}, " if entry.window else ""
    author = f", by {entry.author}" if entry.author else ""
    reason = f": {entry.reason}" if entry.reason else ""
    return f"{window}entry {entry.entry} ({entry.kind}), decided {entry.at}{author}{reason}"


def _row_lines(place: FilePlace) -> Iterator[str]:
    number = f", number {place.number} of its record" if place.number else ""
    row = "" if place.row is None else f", row {place.row} (from 0){number}"
    match place.state:
        case "live" | "compacted":
            state = f"; {place.problem}, so it is here or in another file" if place.problem else ""
        case "pending":
            state = ", decided and not yet visible; its row is known then"
        case "retired":
            state = ", if it was there; the file is retired"
        case "missing":
            state = f": {place.problem}"
        case _ as never:
            assert_never(never)
    yield f"  {place.dataset}: {place.file}{row}{state}"
    yield from map(_done_line, place.taken)
    if not place.taken and place.delivered_by.kind == "replay":
        yield f"    delivered by {entry_text(place.delivered_by)}"


def _done_line(entry: EntryFacts) -> str:
    return f"    {_DONE.get(entry.kind, entry.kind)} by {entry_text(entry)}"


def _quarantine_lines(place: QuarantinePlace) -> Iterator[str]:
    dataset = f" of {place.dataset}" if place.dataset else ""
    where = f": {place.file}, row {place.row} (from 0)" if place.file else ""
    why = f", {place.reason} (fingerprint {place.fingerprint})" if place.reason else ""
    problem = f" ({place.problem})" if place.problem else ""
    yield f"  quarantine{dataset}{where}{why}{problem}"
    if place.left_by is not None:
        yield _done_line(place.left_by)


def file_lines(found: FileWhereabouts) -> list[str]:
    """What is known of a file."""
    version = f", schema version {found.schema}" if found.schema else ""
    lines = [
        f"{found.file}: {_file_state(found)}",
        f"  {entry_text(found.delivered_by)}",
        f"  {found.dataset}, {number_of(found.rows, 'row')}, {found.size_bytes:,} bytes{version}",
        *(f"  {each}" for each in found.ranges),
    ]
    if found.taken_by is not None:
        lines.append(f"  {found.state} by {entry_text(found.taken_by)}")
    lines += [f"  its rows are in {each}" for each in found.into]
    if found.backup is not None:
        lines += _backup_lines(found.backup)
    return [printable(line) for line in lines]


def _backup_lines(backup: Backup) -> Iterator[str]:
    for each in backup.files:
        state = "" if each.state == "live" else f", {each.state}"
        yield f"  backup {backup.feed}: {each.file}{state}"
    for lacking in backup.missing:
        yield f"  backup {backup.feed} does not have {lacking}"


def _file_state(found: FileWhereabouts) -> str:
    match found.state:
        case "live":
            return "live"
        case "pending":
            return "decided and not yet visible"
        case "compacted":
            return "not live: its rows were written to other files"
        case "retired":
            return "not live: removed by retention"
        case "missing":
            return "it should be there, and is not; run `penstock audit`"
        case _ as never:
            assert_never(never)
