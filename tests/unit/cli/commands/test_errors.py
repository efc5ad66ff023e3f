"""`penstock errors` on a lake that the real writer filled: groups, records, acceptance."""

import base64
import json
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from penstock.audit.ledger import open_ledger
from penstock.audit.quarantine_records import groups
from penstock.care.replay import drop, live_records
from penstock.cli.main import main
from penstock.cli.printable import printable, printable_bytes
from penstock.model.entries import PartitionStart, Rebind
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetSet
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.acceptance import is_accepted
from penstock.protocol.feed_book.inventory_reader import InventoryRoots, ref_key
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.feed_book.shard_names import of_quarantine
from tests.helpers.journals import LAYOUT, an_owner, decided_only
from tests.helpers.lakes_on_disk import DiskLake, Payload, ShreddedSource
from tests.helpers.quarantined_records import GOOD, SPEC, UNTIMED, UNTIMED_TOO, Dated, listed, shown
from tests.simulator.kafka import TOPIC, TOPIC_ID
from tests.simulator.programs import FEED, Room

PAYLOADS: tuple[Payload, ...] = (
    GOOD,
    b'{"type": "click"',
    GOOD,
    UNTIMED,
    b"\x1b[2J\xff\x00 not json " + b"x" * 80,
    GOOD,
    UNTIMED_TOO,
)


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    return DiskLake(tmp_path)


@pytest.fixture
def room(lake: DiskLake) -> Room:
    """A lake with four broken records in two windows."""
    room = lake.room([])
    owner = an_owner(room, ShreddedSource(lake.store, SPEC, PAYLOADS), max_records=5)
    while owner.run_window():
        pass
    return room


@pytest.mark.usefixtures("room")
def test_records_that_are_broken_alike_are_one_group(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    found = listed(lake, capsys)
    assert sum(group["count"] for group in found) == 4
    untimed = next(group for group in found if group["dataset"] == ["click"])
    assert (untimed["count"], untimed["first"], untimed["last"]) == (2, "events/0/3", "events/0/6")
    assert untimed["sample"] == UNTIMED.decode()
    assert {len(group["fingerprint"]) for group in found} == {12}


@pytest.mark.usefixtures("room")
def test_what_the_writer_wrote_passes_the_audit(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("audit", FEED, "--output", "json")) == 0, capsys.readouterr()
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["read"], receipt["written"], receipt["quarantined"]) == (7, 3, 4)


@pytest.mark.parametrize("output", ["text", "json"])
def test_where_groups_are_too_many_the_largest_are_shown_and_the_others_told(
    lake: DiskLake,
    room: Room,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    output: str,
) -> None:
    journal = room.journal()
    all_of_them = groups(journal.store, *open_ledger(journal))
    assert (len(all_of_them.shown), all_of_them.others) == (3, 0)
    few = groups(journal.store, *open_ledger(journal), most=1)
    assert few.shown == all_of_them.shown[:1]
    assert (few.shown[0].count, few.others, few.other_records) == (2, 2, 2)
    monkeypatch.setattr("penstock.cli.commands.errors_list.groups", partial(groups, most=1))
    assert main(lake.words("errors", "list", FEED, "--output", output)) == 0
    told = capsys.readouterr()
    assert few.shown[0].fingerprint in told.out
    assert told.err == "not shown: 2 smaller groups, with 2 records\n"


def test_of_a_large_record_a_group_keeps_the_beginning(lake: DiskLake) -> None:
    torn = b'{"type": "' + b"x" * 100_000
    room = lake.room([])
    assert an_owner(room, ShreddedSource(lake.store, SPEC, [torn, torn])).run_window()
    [group] = groups(lake.store, *open_ledger(room.journal())).shown
    assert group.sample == torn[:400]


@pytest.mark.usefixtures("room")
def test_samples_are_short_and_cannot_drive_the_terminal(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("errors", "list", FEED)) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == [
        "fingerprint", "count", "reason", "dataset", "first", "last", "sample",
    ]  # fmt: skip
    [dirty] = [line for line in lines if "\\x1b[2J\\xff\\x00 not json" in line]
    assert dirty.endswith("xxx...")
    assert len(dirty[header.index("sample") :]) == 60
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("act", [("list",), ("show", "events/0/0")])
def test_a_terminal_without_unicode_is_shown_escapes(
    lake: DiskLake, monkeypatch: pytest.MonkeyPatch, act: tuple[str, ...]
) -> None:
    value = '{"type": "click", "x": "é中"}'.encode()
    assert an_owner(lake.room([]), ShreddedSource(lake.store, SPEC, [value])).run_window()
    plain = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", plain)
    assert main(lake.words("errors", act[0], FEED, *act[1:])) == 0
    plain.seek(0)
    assert '"x": "\\xe9\\u4e2d"' in plain.read()


@pytest.mark.usefixtures("room")
def test_one_record_is_shown_whole_by_its_position(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    [record] = shown(lake, capsys, "events/0/4")
    assert base64.b64decode(record["value_base64"]) == PAYLOADS[4]
    assert record["value"].startswith("\\x1b[2J\\xff\\x00 not json xxx")
    assert record["value"].endswith("x" * 80)
    assert base64.b64decode(record["key_base64"]) == b"k4"
    assert (record["topic"], record["partition"], record["offset"]) == ("events", 0, 4)
    assert record["headers"] == '[{"key":"h"}]'
    assert record["dataset"] is None
    assert main(lake.words("errors", "show", FEED, "events/0/3")) == 0
    printed = capsys.readouterr().out
    assert "position     events/0/3\n" in printed
    assert "dataset      click\nteam         web\nkey          k3\n" in printed
    assert f"value        {UNTIMED.decode()}\n" in printed


@pytest.mark.usefixtures("room")
def test_a_group_is_shown_by_its_fingerprint_up_to_a_limit(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    untimed = next(group for group in listed(lake, capsys) if group["dataset"] == ["click"])
    word = untimed["fingerprint"]
    assert [record["offset"] for record in shown(lake, capsys, word)] == [3, 6]
    assert main(lake.words("errors", "show", FEED, word, "--limit", "1")) == 0
    told = capsys.readouterr()
    assert told.out.count("position") == 1
    assert "only the first is shown; use --limit to see more" in told.err


def test_records_that_were_dropped_are_not_there_any_more(
    lake: DiskLake, room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = RecordSet(TOPIC, TOPIC_ID, 0, "click", OffsetSet.of([3]))
    drop(room.journal(), room.around, (gone,), "ann", "known")
    untimed = next(group for group in listed(lake, capsys) if group["dataset"] == ["click"])
    assert (untimed["count"], untimed["first"]) == (1, "events/0/6")
    assert main(lake.words("errors", "show", FEED, "events/0/3")) == 2
    assert "replayed or dropped" in capsys.readouterr().err
    rest = live_records(room.journal().open(deep=True))
    drop(room.journal(), room.around, rest, "ann", "all")
    assert main(lake.words("errors", "list", FEED)) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "no record of feed feed is in the quarantine" in told.err


def test_a_record_of_a_recreated_topic_is_not_taken_for_its_namesake(
    lake: DiskLake, room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: offset 3 of the old life was dropped, offset 3 of the new one is there."""
    gone = RecordSet(TOPIC, TOPIC_ID, 0, "click", OffsetSet.of([3]))
    drop(room.journal(), room.around, (gone,), "ann", "known")
    journal = room.journal()
    fold = journal.open()
    starts = (PartitionStart(TOPIC, "topic-id-2", 0, 0),)
    body = Rebind(TOPIC, TOPIC_ID, "topic-id-2", starts, "ann", "recreated")
    journal.append(fold, body, fold.state.epoch)
    anew = ShreddedSource(lake.store, SPEC, [GOOD, GOOD, GOOD, UNTIMED_TOO], "topic-id-2")
    assert an_owner(room, anew, max_records=5).run_window()
    records = shown(lake, capsys, "events/0/3")
    assert [base64.b64decode(record["value_base64"]) for record in records] == [UNTIMED_TOO]


@pytest.mark.parametrize(
    ("kafka_ms", "time"),
    [
        (-1, "1969-12-31T23:59:59.999000+00:00"),
        (1_799_990_000_000, "2027-01-15T05:13:20+00:00"),
        (-62_135_596_800_000, "0001-01-01T00:00:00+00:00"),
        (-62_135_596_800_001, "-62135596800001 ms"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999000+00:00"),
        (253_402_300_800_000, "253402300800000 ms"),
        (2**63 - 1, "9223372036854775807 ms"),
        (-(2**63), "-9223372036854775808 ms"),
    ],
)
def test_a_time_of_no_calendar_hides_no_record(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], kafka_ms: int, time: str
) -> None:
    source = Dated(lake.store, SPEC, [GOOD, UNTIMED, UNTIMED_TOO])
    source.kafka_ms = kafka_ms
    assert an_owner(lake.room([]), source, max_records=5).run_window()
    assert [group["count"] for group in listed(lake, capsys)] == [2]
    assert shown(lake, capsys, "events/0/1")[0]["time"] == time
    words = ("errors", "drop", FEED, "events/0/1", "--reason", "x", "--author", "ann", "--execute")
    assert main(lake.words(*words)) == 0
    assert main(lake.words("audit", FEED)) == 0
    assert main(lake.words("status", FEED)) == 0


def test_records_of_a_window_that_is_not_published_are_announced(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ShreddedSource(lake.store, SPEC, PAYLOADS)
    decided_only(an_owner(lake.room([]), source, max_records=10))
    assert main(lake.words("errors", "list", FEED)) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "decided but not yet visible: 4 more records" in told.err


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("0123456789ab", "has no record '0123456789ab'"),
        ("events/0/0", "has no record 'events/0/0'"),
        ("events/1/4", "has no record"),
        ("events/x/4", "is not a position"),
        ("0/4", "is not a position"),
        pytest.param("events/0/" + "9" * 5_000, "is not a position", id="thousands of digits"),
        ("events/0/9223372036854775807", "has no record"),
    ],
)
def test_an_unknown_id_is_said_to_be_unknown(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], word: str, sentence: str
) -> None:
    assert main(lake.words("errors", "show", FEED, word)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("content", "words"), [(None, "it is gone"), (b"no Parquet at all", "cannot be read")]
)
def test_a_quarantine_file_that_is_gone_or_damaged_is_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    victim = lake.files(f"_penstock/{FEED}/quarantine")[0]
    victim.unlink()
    if content is not None:
        victim.write_bytes(content)
    assert main(lake.words("errors", "list", FEED)) == 1
    told = capsys.readouterr().err
    assert "QUARANTINE_UNREADABLE" in told
    assert words in told
    assert victim.name in told


@pytest.mark.parametrize("act", [("list", FEED), ("show", FEED, "x"), ("accept", FEED)])
def test_a_feed_that_never_ran_has_no_quarantine(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], act: tuple[str, ...]
) -> None:
    more = ("--reason", "x") if act[0] == "accept" else ()
    assert main(lake.words("errors", *act, *more)) == 2
    assert "Nothing was delivered by feed 'feed' yet." in capsys.readouterr().err
    assert main(lake.words("errors", act[0], "nobody", *act[2:], *more)) == 2
    assert "There is no feed nobody" in capsys.readouterr().err


def test_a_window_that_nobody_has_refused_is_not_accepted(
    lake: DiskLake, room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("errors", "accept", FEED, "--reason", "x")) == 2
    told = capsys.readouterr().err
    assert "Feed 'feed' is not halted: there is no window" in told
    assert "Nothing was changed" in told
    journal = room.journal()
    assert not is_accepted(journal, journal.open().state)


@pytest.mark.usefixtures("room")
def test_an_empty_reason_is_no_reason(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(lake.words("errors", "accept", FEED, "--reason", " ")) == 2
    assert not (lake.root / LAYOUT.accepted).exists()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("Grüße, 世界".encode(), "Grüße, 世界"),
        (b"a\tb\nc\r", "a\\tb\\nc\\r"),
        (b"\x1b[31m\x9b", "\\x1b[31m\\x9b"),
        ("\u202eabc\u0085".encode(), "\\u202eabc\\x85"),
        ("\U000e0001".encode(), "\\U000e0001"),
        (None, "(null)"),
    ],
)
def test_bytes_are_text_where_that_is_harmless(data: bytes | None, text: str) -> None:
    assert printable_bytes(data) == text
    assert printable(text) == text


def test_a_cut_text_keeps_to_its_length_whatever_it_holds() -> None:
    assert printable_bytes(b"x" * 10, 10) == "x" * 10
    assert printable_bytes(b"x" * 11, 10) == "x" * 7 + "..."
    assert printable_bytes("世".encode() * 11, 10) == "世" * 7 + "..."
    assert printable_bytes(b"\xff" * 4, 10) == "\\xff\\xf..."


@pytest.mark.parametrize(
    "words",
    [
        ("audit",), ("errors",), ("errors", "list"), ("errors", "show"), ("errors", "accept"),
        ("errors", "replay"), ("errors", "drop"), ("errors", "export"),
        ("jars",), ("jars", "list"), ("jars", "fetch"),
    ],
)  # fmt: skip
def test_help_ends_with_an_example(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    last = capsys.readouterr().out.rstrip().rpartition("\n\n")[2]
    assert last.startswith("example: penstock " + words[0])


def test_the_quarantine_is_listed_from_a_checkpoint_as_from_all_entries(
    lake: DiskLake, room: Room, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = listed(lake, capsys)
    number = update_inventory(room.journal(), room.around, every=1)
    read: list[str] = []
    real = LocalStore.read

    def noted(store: LocalStore, key: str) -> bytes | None:
        read.append(key)
        return real(store, key)

    monkeypatch.setattr(LocalStore, "read", noted)
    assert listed(lake, capsys) == wanted
    assert number is not None
    root = InventoryRoots(room.journal(), list_keys(lake.store, LAYOUT.inventory_roots)).newest()
    assert root is not None
    shards = {key for key in read if "/inventory/shards/" in key}
    assert shards == {ref_key(LAYOUT, ref) for ref in root.shards if of_quarantine(ref.name)}
    assert 0 < len(shards) < len(root.shards)
