"""A journal that somebody doctored: every audit notices, exits with 4, and names the object."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.care.replay import drop, live_records
from penstock.cli.main import main
from penstock.model.entries import Drop, Entry, Window
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import Content, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.wire import open_entry
from tests.helpers.doctored_lakes import DoctoredLake, events
from tests.helpers.journals import LAYOUT
from tests.simulator.programs import FEED

LAST = 6  # entries 0 to 2 bind, claim and start; 3 to 6 are windows of 25 records

Differences = list[dict[str, Any]]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoctoredLake:
    found = DoctoredLake(tmp_path, events(100, filtered=True), max_records=25)
    found.plain_tools(monkeypatch)
    assert found.entries() == LAST + 1
    return found


@pytest.fixture(params=[(), ("--deep",)], ids=["shallow", "deep"])
def differences(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> Callable[[], Differences]:
    """What the audit objects to; it must object, and with exit code 4."""

    def audit() -> Differences:
        assert lake.audit(*request.param, "--output", "json") == 4, capsys.readouterr()
        found: Differences = json.loads(capsys.readouterr().out)["differences"]
        return found

    return audit


def named(found: Differences, code: str = "") -> set[str]:
    """The objects of the journal that are named."""
    assert any(code in each["found"] for each in found), found
    return {each["file"] for each in found if each["kind"] == "journal"}


def window(entry: Entry) -> Window:
    assert isinstance(entry.body, Window)
    return entry.body


def with_content(entry: Entry, **changes: Any) -> Entry:
    """An entry whose window has other contents."""
    body = window(entry)
    content = msgspec.structs.replace(body.content or Content(), **changes)
    return msgspec.structs.replace(entry, body=msgspec.structs.replace(body, content=content))


def other_rows(entry: Entry) -> Entry:
    """The first file is said to have one row less."""
    content = window(entry).content or Content()
    first, *others = content.files
    evidence = msgspec.structs.replace(first.evidence, count=first.evidence.count - 1)
    fewer = msgspec.structs.replace(first, evidence=evidence)
    return with_content(entry, files=(fewer, *others))


def test_an_edited_entry(lake: DoctoredLake, differences: Callable[[], Differences]) -> None:
    path = lake.entry(4)
    path.write_bytes(path.read_bytes().replace(b'"partition":0', b'"partition":1', 1))
    assert named(differences(), "ENTRY_DAMAGED") == {LAYOUT.entry(4)}


def test_an_edited_entry_stops_every_other_command_as_before(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lake.entry(4)
    path.write_bytes(path.read_bytes().replace(b'"partition":0', b'"partition":1', 1))
    assert main(lake.words("files", FEED)) == 5
    assert "ENTRY_DAMAGED" in capsys.readouterr().err


def test_an_entry_that_was_edited_and_hashed_again_breaks_the_chain(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.reseal(4, other_rows, onward=False)
    assert named(differences(), "CHAIN_BROKEN") == {LAYOUT.entry(5), LAYOUT.marker(4)}


def test_entries_that_were_hashed_again_to_the_end_contradict_their_markers(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.reseal(4, other_rows, onward=True)
    markers = {LAYOUT.marker(number) for number in range(4, LAST + 1)}
    assert named(differences(), "MARKER_WRONG") >= markers


def test_the_last_entry_hashed_again_contradicts_its_marker_and_the_tail_mark(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.reseal(LAST, other_rows, onward=False)
    assert named(differences(), "MARKER_WRONG") >= {LAYOUT.marker(LAST), LAYOUT.tail(LAST)}


def test_with_forged_markers_the_sums_of_the_window_still_contradict(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.reseal(LAST, other_rows, onward=False)
    lake.remark(LAST)
    found = [each for each in differences() if each["entry"] == LAST]
    assert any(each["kind"] == "counts" and "written" in each["found"] for each in found)


@pytest.mark.parametrize(
    ("change", "kind"),
    [({"size_bytes": 7}, "file_size"), ({"checksum": "sha256:" + "0" * 64}, "file_contents")],
)
def test_a_forgery_about_a_file_contradicts_the_file(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], change: dict[str, Any], kind: str
) -> None:
    def other_handle(entry: Entry) -> Entry:
        content = window(entry).content or Content()
        first, *others = content.files
        handle = msgspec.structs.replace(first.handle, **change)
        return with_content(entry, files=(msgspec.structs.replace(first, handle=handle), *others))

    first = (
        window(open_entry(FEED_BOOK, "", LAST, lake.entry(LAST).read_bytes()).entry).content
        or Content()
    )
    lake.reseal(LAST, other_handle, onward=False)
    lake.remark(LAST)
    assert lake.audit("--deep", "--output", "json") == 4
    [difference] = json.loads(capsys.readouterr().out)["differences"]
    assert (difference["kind"], difference["file"]) == (kind, first.files[0].handle.final)


def elsewhere(entry: Entry) -> Entry:
    """Files and evidence are said to be of a partition that was never read."""
    content = window(entry).content or Content()

    def moved(part: OffsetRange) -> OffsetRange:
        return msgspec.structs.replace(part, partition=9)

    files = tuple(
        msgspec.structs.replace(file, ranges=tuple(map(moved, file.ranges)))
        for file in content.files
    )
    evidence = tuple(
        msgspec.structs.replace(seen, range=moved(seen.range)) for seen in content.evidence
    )
    return with_content(entry, files=files, evidence=evidence)


def test_a_forgery_about_a_partition_that_was_never_read(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.reseal(LAST, elsewhere, onward=False)
    lake.remark(LAST)
    told = [each["found"] for each in differences()]
    assert any("has evidence for other ranges than its own" in words for words in told)


def dropped(entry: Entry) -> Entry:
    """Offset 90 was never there: not read, not written, not counted. Every sum adds up."""
    content = window(entry).content or Content()
    [seen] = content.evidence
    one = Evidence.of_positions(seen.range.topic, seen.range.partition, [90])

    def less(whole: Evidence) -> Evidence:
        return Evidence(whole.count - 1, (whole.hash_sum - one.hash_sum) % 2**64)

    fewer = RangeEvidence(
        seen.range,
        seen.offsets - OffsetSet.of([90]),
        less(seen.read),
        (seen.content_sum - 90 * 7919) % 2**64,
        seen.filtered,
        seen.quarantined,
    )
    files = tuple(
        msgspec.structs.replace(f, evidence=less(f.evidence)) if f.dataset == "click" else f
        for f in content.files
    )
    body = window(entry)
    counts = msgspec.structs.replace(
        body.counts, read=body.counts.read - 1, written=body.counts.written - 1
    )
    changed = msgspec.structs.replace(
        body,
        counts=counts,
        content=msgspec.structs.replace(content, files=files, evidence=(fewer,)),
    )
    return msgspec.structs.replace(entry, body=changed)


def test_a_forgery_without_a_contradiction_in_the_journal_is_found_in_the_file_and_in_kafka(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: who hides a record must forge the files too, and cannot forge Kafka."""
    lake.reseal(LAST, dropped, onward=False)
    lake.remark(LAST)
    assert lake.audit() == 0  # the shallow audit opens no file
    capsys.readouterr()
    assert lake.audit("--deep", "--output", "json") == 4
    rows, kafka = json.loads(capsys.readouterr().out)["differences"]
    assert rows["kind"] == "file_rows"
    assert [(o["fate"], o["runs"]) for o in rows["offsets"]] == [("foreign", [[90, 91]])]
    assert kafka["kind"] == "kafka"
    assert [(o["fate"], o["runs"]) for o in kafka["offsets"]] == [("never_read", [[90, 91]])]


def test_an_entry_removed_in_the_middle(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.entry(4).unlink()
    assert named(differences(), "ENTRY_MISSING") == {LAYOUT.entry(4)}


def test_an_entry_removed_at_the_tail(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.entry(LAST).unlink()
    [witness] = named(differences(), "JOURNAL_CUT")
    assert witness in {LAYOUT.marker(LAST), LAYOUT.tail(LAST)}


def test_an_entry_removed_at_the_tail_with_all_that_could_prove_it_leaves_its_files(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    for key in (LAYOUT.entry(LAST), LAYOUT.marker(LAST), LAYOUT.tail(LAST)):
        (lake.root / key).unlink()
    found = differences()
    assert {each["kind"] for each in found} == {"file_foreign"}
    assert all("_75-100_" in each["file"] for each in found)


def forged(lake: DoctoredLake, number: int, sha256: str, *groups: str) -> None:
    path = lake.root / LAYOUT.marker(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(Marker(number, sha256, groups)))


def test_a_done_marker_with_a_wrong_hash(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    forged(lake, 4, "f" * 64, "click", "order")
    assert named(differences(), "MARKER_WRONG") == {LAYOUT.marker(4)}


def test_a_done_marker_beyond_the_tail(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    forged(lake, LAST + 1, "f" * 64, "click")
    assert named(differences(), "JOURNAL_CUT") == {LAYOUT.marker(LAST + 1)}


def test_a_done_marker_of_something_that_is_not_visible(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    """The window was decided and never published; somebody says that it was."""
    [victim] = lake.data("click", "_75-100_")
    victim.unlink()
    sha256 = open_entry(FEED_BOOK, "", LAST, lake.entry(LAST).read_bytes()).sha256
    (lake.root / LAYOUT.marker(LAST)).unlink()
    forged(lake, LAST, sha256, "_quarantine", "click", "order")
    [difference] = differences()
    assert (difference["kind"], difference["file"]) == ("file_missing", lake.key(victim))


def test_a_done_marker_of_a_group_that_the_entry_does_not_have(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    sha256 = open_entry(FEED_BOOK, "", 4, lake.entry(4).read_bytes()).sha256
    forged(lake, 4, sha256, "_quarantine", "click", "invented", "order")
    assert named(differences(), "invented") == {LAYOUT.marker(4)}


def test_a_file_that_is_not_an_entry(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    lake.entry(5).write_bytes(b"")
    assert named(differences(), "ENTRY_DAMAGED") == {LAYOUT.entry(5)}


def given_up(lake: DoctoredLake) -> int:
    """All records of the quarantine are given up; the number of the entry."""
    room = lake.room([])
    records = live_records(room.journal().open(deep=True))
    return drop(room.journal(), room.around, records, "ann", "test data").number


def test_a_forged_drop_of_nothing_in_an_unknown_partition_is_named(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    number = given_up(lake)

    def more(entry: Entry) -> Entry:
        body = entry.body
        assert isinstance(body, Drop)
        records = (*body.content.records, RecordSet("t", "nope", 9, "", OffsetSet()))
        return msgspec.structs.replace(
            entry, body=msgspec.structs.replace(body, content=Content(records=records))
        )

    lake.reseal(number, more, onward=False)
    lake.remark(number)
    assert named(differences(), "was ever quarantined") == {LAYOUT.entry(number)}


def test_records_that_a_forged_window_put_into_a_partition_without_a_start_are_told(
    lake: DoctoredLake, differences: Callable[[], Differences]
) -> None:
    """A drop takes them out again: the fold must get over it, and every step is told."""
    number = given_up(lake)
    stray = RecordSet("t", "nope", 9, "", OffsetSet.of([1]))

    def arrive(entry: Entry) -> Entry:
        content = window(entry).content or Content()
        return with_content(entry, quarantined=(*content.quarantined, stray))

    def leave(entry: Entry) -> Entry:
        body = entry.body
        assert isinstance(body, Drop)
        content = Content(records=(*body.content.records, stray))
        return msgspec.structs.replace(entry, body=msgspec.structs.replace(body, content=content))

    lake.reseal(LAST, arrive, onward=True)
    lake.reseal(number, leave, onward=False)
    for each in (LAST, number):
        lake.remark(each)
    found = [each["found"] for each in differences()]
    assert "it consumes records of t/9, which has no start" in found


def test_a_deep_audit_that_had_to_stop_says_that_it_read_nothing(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.entry(4).write_bytes(b"{}")
    assert lake.audit("--deep", "--output", "json") == 4
    assert json.loads(capsys.readouterr().out)["deep"] is None
