"""Lakes of older versions: opened, recovered, audited and continued by this one."""

import json
import shutil
from pathlib import Path
from typing import get_args

import pyarrow.parquet as pq
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.receipt import Receipt
from penstock.cli.main import main
from penstock.datapath.schemas.schema_objects import stored_schemas
from penstock.model.entries import FORMAT, AnyBody, Deciding
from penstock.model.lanes import datasets_in
from penstock.model.steps import Step
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.acceptance import is_accepted
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.feed_lease import last_beat
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.journal.checkpoints import newest_checkpoint
from penstock.protocol.journal.lake_identity import known_identity
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from penstock.protocol.journal.wire import open_entry
from penstock.runtime.parallel import in_this_process
from tests.helpers.doctored_lakes import BROKEN, SPEC, event
from tests.helpers.journals import LAYOUT, an_owner
from tests.helpers.lakes_on_disk import CONFIG, ShreddedSource
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import FEED, LAKE, Room, surroundings
from tests.upgrade.make_lake import COMPACTED, PARKED, RETIRED, payload
from tests.upgrade.older_versions import kept_entries, kept_versions, unpacked_lake

# What the lake of `make_lake.py` is about: where records went before its last two windows.
REPLAYED, DROPPED, GONE_WITH_RETENTION, SKIPPED = {7}, {17}, {1}, {20, 21}
DELIVERED = {
    offset for offset in range(35) if offset % 10 not in (3, 7)
} - GONE_WITH_RETENTION - SKIPPED | REPLAYED
UNDONE = {36, 37, 38, 39}  # one of a parked dataset, three of a window that was only decided
LATER = [event(COMPACTED, 41), BROKEN, event(PARKED, 43), event(RETIRED, 44)]


class OldLake:
    """A copy of a lake that an older version has made, with a configuration beside it."""

    def __init__(self, version: str, directory: Path) -> None:
        self.root = unpacked_lake(version, directory)
        self.config = directory / "penstock.yaml"
        self.config.write_text(CONFIG)
        self.store = LocalStore(self.root)
        self.source = ShreddedSource(self.store, SPEC, [*map(payload, range(35))])
        self.source.payloads += [event(kind, 35) for kind in (COMPACTED, PARKED)]
        self.source.payloads += [event(kind, 40) for kind in (COMPACTED, PARKED, RETIRED)]
        self.source.payloads.append(BROKEN)

    def room(self, name: str) -> Room:
        """A process of this version beside the lake."""
        return Room(name, self.store, surroundings(f"{name} of this version"), SimKafka({}))

    def offsets(self, directory: str = FEED) -> list[int]:
        """The offsets of all rows that a reader of the data sees."""
        files = (self.root / directory).rglob("*.parquet")
        found = [pq.ParquetFile(file).read(["_offset"])["_offset"].to_pylist() for file in files]
        return sorted(offset for part in found for offset in part)

    def quarantined(self) -> list[int]:
        """The offsets of all records in files of the quarantine, also of those that left it."""
        return self.offsets(f"_penstock/{FEED}/quarantine")

    def deep(self) -> Receipt:
        """The deep audit, with the work on every file done here."""
        tools = DeepTools(in_this_process, None, lambda: 0.0)
        return deep_audit(self.room("auditor").journal(), DeepSpec(), tools)

    def command(self, *words: str) -> int:
        """A command on this lake; its exit code."""
        return main([*words, "-c", str(self.config)])


@pytest.fixture(params=kept_versions())
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> OldLake:
    return OldLake(request.param, tmp_path)


def test_a_lake_and_entries_are_kept_of_the_version_before() -> None:
    assert "0.1.0" in kept_versions()


@pytest.mark.parametrize("version", kept_versions())
def test_an_entry_of_every_kind_of_an_older_version_is_read(version: str) -> None:
    found = [open_entry(FEED_BOOK, "entry", 5, raw).body for raw in kept_entries(version)]
    assert {type(body) for body in found} <= set(get_args(AnyBody))
    steps = [step for b in found if isinstance(b, Deciding) for g in b.groups for step in g.steps]
    assert steps
    assert {type(step) for step in steps} <= set(get_args(Step))
    if version == "0.1.0":
        assert {json.loads(raw)["format"] for raw in kept_entries(version)} == {1}
        assert len({type(body) for body in found}) == 15, "that version had fifteen kinds"


def test_an_older_lake_is_opened_as_if_it_had_no_checkpoint(lake: OldLake) -> None:
    """Goal: its checkpoint is completed exactly. Method: open again without any checkpoint."""
    journal = lake.room("reader").journal()
    found = newest_checkpoint(journal, list_keys(lake.store, LAYOUT.checkpoints))
    assert found is not None
    opened = journal.open().state
    assert found.number < opened.number, "an entry follows the checkpoint"
    assert opened.parked_datasets.keys() == {PARKED}
    assert datasets_in(opened.undone[opened.number].parts) == sorted(
        ["_quarantine", COMPACTED, PARKED, RETIRED]
    )
    shutil.rmtree(lake.root / LAYOUT.checkpoints)
    assert journal.open().state == opened
    assert journal.open(deep=True).state == opened


def test_all_other_objects_of_an_older_lake_are_read(lake: OldLake) -> None:
    assert known_identity(lake.store) == LAKE
    room = lake.room("reader")
    state = room.journal().open().state
    state.windows = 6  # the acceptance is about the window after these
    assert is_accepted(room.journal(), state)
    beat = last_beat(lake.store, LAYOUT)
    assert beat is not None
    assert (beat.released, beat.note.phase) == (True, "stage")
    schemas = stored_schemas(lake.store, LAYOUT.schemas)
    assert {schema.dataset for schema in schemas} == {COMPACTED, PARKED, RETIRED}


def test_an_older_lake_is_recovered_with_the_steps_that_were_decided_then(lake: OldLake) -> None:
    assert set(lake.offsets()) == DELIVERED | {35}
    an_owner(lake.room("owner"), lake.source).recover()
    assert lake.offsets() == sorted(DELIVERED | {35} | UNDONE), "each once"
    assert lake.quarantined() == [7, 17, 27, 40]
    state = lake.room("reader").journal().open().state
    assert (state.undone, state.parked) == ({}, {})
    assert not list(lake.store.list_staged(LAYOUT.staging, ()))


def test_an_older_lake_passes_both_audits_as_it_is(
    lake: OldLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lake.command("audit", FEED, "--output", "json") == 0, capsys.readouterr()
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["verdict"], receipt["differences"]) == ("ok", [])
    assert receipt["pending"], "what is decided and not visible is told"
    deep = lake.deep()
    assert (deep.verdict, deep.differences) == ("ok", ())
    assert deep.deep is not None
    assert deep.deep.files == receipt["files"]


def test_an_older_lake_is_continued_and_passes_both_audits_then(lake: OldLake) -> None:
    lake.source.payloads += LATER
    owner = an_owner(lake.room("owner"), lake.source, max_records=2, checkpoint_every=2)
    while owner.run_window():
        pass
    assert lake.offsets() == sorted(DELIVERED | {35} | UNDONE | {41, 43, 44})
    assert lake.quarantined() == [7, 17, 27, 40, 42]
    formats = [
        json.loads((lake.root / key).read_bytes())["format"]
        for key in list_keys(lake.store, LAYOUT.journal)
    ]
    assert formats == sorted(formats)
    assert formats[-1] == FORMAT
    assert lake.command("audit", FEED) == 0
    deep = lake.deep()
    assert (deep.verdict, deep.pending) == ("ok", ())
    found = newest_checkpoint(
        lake.room("reader").journal(), list_keys(lake.store, LAYOUT.checkpoints)
    )
    assert found is not None
    assert found.state is not None, "this version left a checkpoint of its own"


def test_an_older_lake_is_sealed_with_entries_of_its_format_as_they_are(lake: OldLake) -> None:
    lake.source.payloads += LATER
    owner = an_owner(lake.room("owner"), lake.source, max_records=2, checkpoint_every=2)
    while owner.run_window():
        pass
    room = lake.room("upkeep")
    update_inventory(room.journal(), room.around, every=1)
    before = {key: (lake.root / key).read_bytes() for key in list_keys(lake.store, LAYOUT.journal)}
    wanted = room.journal().open_from_first().state
    sealed = seal_old(room.journal(), SealPolicy(0.0), owner.epoch, room.around.now())
    assert sealed is not None
    assert sealed.last > 20
    assert len(list_keys(lake.store, LAYOUT.journal)) == len(before) - sealed.last
    journal = lake.room("reader").journal()
    numbers = range(sealed.last + 1)
    assert journal.entry_bytes(numbers) == [before[LAYOUT.entry(number)] for number in numbers]
    opened = journal.open_from_first().state
    assert (opened.undone, opened.watermarks()) == ({}, wanted.watermarks())
    assert lake.command("audit", FEED) == 0
    deep = lake.deep()
    assert (deep.verdict, deep.pending) == ("ok", ())
    assert lake.command("files", FEED) == lake.command("status") == 0


def test_a_doctored_file_of_an_older_lake_is_noticed(lake: OldLake) -> None:
    """Goal: the audits above can fail. Method: remove a row of a file."""
    file = next((lake.root / FEED / RETIRED).rglob("*.parquet"))
    table = pq.ParquetFile(file).read()
    pq.write_table(table.slice(1), file)
    assert lake.deep().verdict != "ok"


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("files", FEED),
        ("errors", "list", FEED),
        ("schema", "show", f"{FEED}/{COMPACTED}"),
    ],
)
def test_commands_that_only_read_work_on_an_older_lake(
    lake: OldLake, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.stat().st_mtime_ns for path in lake.root.rglob("*"))
    assert lake.command(*words) == 0, capsys.readouterr()
    assert sorted(path.stat().st_mtime_ns for path in lake.root.rglob("*")) == before
