"""`penstock where`: where one record went, or where the rows of a file came from. Only reads."""

import argparse
import json

import msgspec

from penstock.cli.common import feed_named, reading_journal, surroundings
from penstock.cli.errors import UsageMistake
from penstock.cli.where_text import file_lines, record_lines
from penstock.config.location import key_in
from penstock.model.record_position import Position
from penstock.model.spec import LakeSpec
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.status.backup_files import BackupSearch
from penstock.status.where_file import where_file
from penstock.status.where_record import RecordSearch
from penstock.status.whereabouts import KNOWN_FATES, Backup, FileWhereabouts, Whereabouts

FOUND, NOT_KNOWN, DIFFERENCE = 0, 1, 4


def run(chosen: argparse.Namespace) -> int:
    """Print what is known; the exit code says whether anything is."""
    spec, feed, journal = feed_named(chosen, chosen.feed)
    state = journal.open().state
    search = EntrySearch(journal, state.number, surroundings().do_all)
    position = Position.parse(chosen.what)
    if position is not None:
        answers = RecordSearch(journal, state, search).find(position)
        several = len(answers) > 1
        lines = [line for each in answers for line in record_lines(each, with_id=several)]
        _show(answers, chosen.output, lines)
        return _record_code(answers)
    key = key_in(spec.lake, chosen.what)
    found = where_file(journal, state, search, key)
    if found is None:
        _refuse_position(chosen.what)
        text = [f"{key}: no entry of feed {feed.name!r} names this file"]
        _show([{"file": key, "state": "unknown"}], chosen.output, text)
        return NOT_KNOWN
    if feed.backup is not None:
        found = msgspec.structs.replace(found, backup=_backup(spec, feed.backup, found))
    _show([found], chosen.output, file_lines(found))
    return DIFFERENCE if found.state == "missing" else FOUND


def _refuse_position(word: str) -> None:
    """Raise if this is not a file, and seems to be meant as the position of a record."""
    parts = word.split("/")
    if len(parts) != 3 or not any(part.lstrip("-").isdecimal() for part in parts[1:]):
        return
    raise UsageMistake(
        f"{word!r} is not the position of a record, and no file has this name: "
        "in TOPIC/PARTITION/OFFSET, partition and offset are whole numbers from 0.",
        "For example `penstock where events events/0/1200`; `penstock offsets show` lists the "
        "partitions of a feed.",
    )


def _backup(spec: LakeSpec, name: str, found: FileWhereabouts) -> Backup:
    """What the backup feed has of the ranges of a file."""
    journal = reading_journal(spec, name)
    state = journal.open().state
    search = EntrySearch(journal, state.number, surroundings().do_all)
    return BackupSearch(journal, state, search).find(name, found.ranges)


def _show(
    answers: "tuple[Whereabouts, ...] | list[FileWhereabouts] | list[dict[str, str]]",
    output: str,
    lines: list[str],
) -> None:
    if output == "json":
        for each in answers:
            print(json.dumps(msgspec.to_builtins(each)))
        return
    for line in lines:
        print(line)


def _record_code(answers: tuple[Whereabouts, ...]) -> int:
    fates = {each.fate for each in answers}
    if "missing" in fates:
        return DIFFERENCE
    return FOUND if fates & KNOWN_FATES else NOT_KNOWN
