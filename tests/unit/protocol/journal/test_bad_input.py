"""A journal that was damaged, edited, cut or mixed up: everybody stops, and touches nothing.

Each case breaks a real lake on a disk in one way. Then everyone who opens a journal tries: an
owner, the cleaner, a compaction and the command that prints it. Each must say the one right
thing, with the file's name and what to do, and the tree must stay as it is to the byte.
"""

import hashlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from penstock.care.clean import clean
from penstock.care.compact import RewriteOrder, compact
from penstock.cli import journal_dump
from penstock.errors import (
    ChainBroken,
    EntryDamaged,
    EntryForeign,
    EntryImpossible,
    EntryMisplaced,
    EntryMissing,
    EntryNewer,
    JournalCut,
    JournalError,
    JournalMissing,
    ManifestDamaged,
    MarkerWrong,
)
from penstock.model.entries import FORMAT, AnyBody, Window
from penstock.model.manifest import INLINE_FILES, ManifestFile
from penstock.ports.store.local.disk import Disk, OpenFile
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.state import FOLD
from penstock.protocol.journal.book_state import Checkpoint
from penstock.protocol.journal.lake_identity import LAKE_KEY, LakeIdentity
from penstock.protocol.journal.wire import seal
from tests.helpers.entry_samples import with_steps
from tests.helpers.journals import (
    LAYOUT,
    a_room,
    a_window,
    an_owner,
    covered,
    delivered,
    next_entry,
)
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.programs import LAKE, Room


class NoSync(Disk):
    """For making lakes: nobody pulls the plug here."""

    def sync_file(self, file: OpenFile) -> None:
        """Not at all."""

    def sync_directory(self, path: str) -> None:
        """Not at all."""


class Lake:
    """A lake on a disk, and rough hands to break it with."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def room(self, name: str = "opener") -> Room:
        return a_room(kafka(), LocalStore(self.root, NoSync()), name)

    def tail(self) -> int:
        return max(int(file.stem) for file in (self.root / LAYOUT.journal).rglob("0*.json"))

    def raw(self, key: str) -> bytes:
        return (self.root / key).read_bytes()

    def put(self, key: str, data: bytes) -> str:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return key

    def remove(self, key: str) -> None:
        (self.root / key).unlink()

    def edit(self, number: int, change: Callable[[dict[str, Any]], object]) -> str:
        """Change an entry and hash it again, as somebody would who knows how."""
        key = LAYOUT.entry(number)
        entry = json.loads(self.raw(key))
        del entry["hash"]
        change(entry)
        rest = b"," + json.dumps(entry, separators=(",", ":")).encode()[1:]
        digest = hashlib.sha256(rest).hexdigest().encode()
        return self.put(key, b'{"hash":"' + digest + b'"' + rest)

    def append(self, body: AnyBody, **envelope: Any) -> str:
        """Put a well-made entry behind the last one, past all rules."""
        state = self.room().journal().open().state
        entry = next_entry(state, body, **envelope)
        return self.put(LAYOUT.entry(entry.number), seal(entry)[0])

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        """Every name with its time of change and its bytes, directories too."""
        return {
            str(path.relative_to(self.root)): (
                path.stat().st_mtime_ns,
                b"" if path.is_dir() else path.read_bytes(),
            )
            for path in [self.root, *self.root.rglob("*")]
        }


def kafka() -> SimKafka:
    return SimKafka({0: ["a", "a", "b", BAD], 1: ["b", "a", "a"]})


def make_lake(root: Path, source: SimKafka, max_records: int = 2) -> Lake:
    """Two owners in turn deliver everything there is."""
    room = a_room(source, LocalStore(root, NoSync()), "first")
    room.store.create(LAKE_KEY, msgspec.json.encode(LakeIdentity(1, LAKE)))
    an_owner(room).run_window()
    delivered(a_room(source, room.store, "second"), max_records=max_records)
    return Lake(root)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return make_lake(tmp_path_factory.mktemp("whole") / "lake", kafka())


@pytest.fixture
def lake(whole: Lake, tmp_path: Path) -> Lake:
    shutil.copytree(whole.root, tmp_path / "lake")
    return Lake(tmp_path / "lake")


class Printed(NamedTuple):
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


def by_owner(lake: Lake) -> JournalError:
    with pytest.raises(JournalError) as caught:
        an_owner(lake.room())
    return caught.value


def by_cleaner(lake: Lake) -> JournalError:
    with pytest.raises(JournalError) as caught:
        clean(lake.room().journal())
    return caught.value


def never(_order: RewriteOrder) -> tuple[ManifestFile, ...]:
    raise AssertionError("nothing may be rewritten")


def by_compaction(lake: Lake) -> JournalError:
    room = lake.room()
    with pytest.raises(JournalError) as caught:
        compact(room.journal(), room.around, "a", never)
    return caught.value


def print_journal(root: Path, *more: str, feed: str = "feed") -> Printed:
    """The command that prints a journal; it runs here, since a process takes half a second."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = journal_dump.main([str(root), feed, *more])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Printed(code, out.getvalue(), err.getvalue())


def print_journal_apart(*words: str) -> Printed:
    """The same in a process of its own, as people run it."""
    command = [sys.executable, "-m", "penstock.cli.journal_dump", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return Printed(ran.returncode, ran.stdout, ran.stderr)


@dataclass(frozen=True)
class Case:
    """One way to break a lake; `damage` returns the key that the error has to name."""

    name: str
    damage: Callable[[Lake], str]
    error: type[JournalError]
    says: str = ""


def set_bytes(number: int, change: Callable[[bytes], bytes]) -> Callable[[Lake], str]:
    key = LAYOUT.entry(number)
    return lambda lake: lake.put(key, change(lake.raw(key)))


def flip(at: float) -> Callable[[bytes], bytes]:
    """Flip one bit at a place between 0 (the first byte) and 1 (the last one)."""

    def change(raw: bytes) -> bytes:
        place = round(at * (len(raw) - 1))
        return raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]

    return change


def edit(number: int, **fields: Any) -> Callable[[Lake], str]:
    return lambda lake: lake.edit(number, lambda entry: entry.update(fields))


def edit_body(number: int, **fields: Any) -> Callable[[Lake], str]:
    return lambda lake: lake.edit(number, lambda entry: entry["body"].update(fields))


def copy_to_the_tail(lake: Lake) -> str:
    return lake.put(LAYOUT.entry(lake.tail() + 1), lake.raw(LAYOUT.entry(3)))


def copy_over_the_next(lake: Lake) -> str:
    return lake.put(LAYOUT.entry(4), lake.raw(LAYOUT.entry(3)))


def remove_from_the_middle(lake: Lake) -> str:
    lake.remove(LAYOUT.entry(3))
    return LAYOUT.entry(3)


def rewrite_without_a_trace(lake: Lake) -> str:
    """Entry 3 is another one now, with a good hash; the entry after it remembers."""
    lake.edit(3, lambda entry: entry.update(at="1999-01-01T00:00:00.000+00:00"))
    return LAYOUT.entry(4)


def cut_the_tail(lake: Lake) -> str:
    last = lake.tail()
    lake.remove(LAYOUT.entry(last))
    return f"{last:020}"


def restore_an_older_backup(lake: Lake) -> str:
    """All of `_penstock/` is from yesterday, the data is from today."""
    last = lake.tail()
    for number in (last, last - 1):
        lake.remove(LAYOUT.entry(number))
        lake.remove(LAYOUT.marker(number))
    return LAYOUT.tail(last)


def remove_the_journal(lake: Lake) -> str:
    shutil.rmtree(lake.root / LAYOUT.journal)
    return LAYOUT.journal


def keep_only_data(lake: Lake) -> str:
    for room in (LAYOUT.journal, LAYOUT.done, LAYOUT.tails):
        shutil.rmtree(lake.root / room)
    return LAYOUT.journal


def set_marker(key: str, change: Callable[[bytes], bytes]) -> Callable[[Lake], str]:
    return lambda lake: lake.put(key, change(lake.raw(key)))


def set_tail_mark(lake: Lake) -> str:
    return lake.put(LAYOUT.tail(lake.tail()), b'{"number":9,"sha256":"no"}')


def whole_checkpoint_beyond(lake: Lake) -> str:
    state = lake.room().journal().open().state
    state.number += 7
    return lake.put(LAYOUT.checkpoint(state.number), seal(Checkpoint(FOLD, state))[0])


def broken_checkpoint_beyond(lake: Lake) -> str:
    return lake.put(LAYOUT.checkpoint(lake.tail() + 7), b"garbage")


def checkpoint_of_another_history(lake: Lake) -> str:
    """A checkpoint proves what the entry was; if the entry is another now, one was replaced."""
    state = lake.room().journal().open().state
    state.sha256 = "f" * 64
    lake.put(LAYOUT.checkpoint(state.number), seal(Checkpoint(FOLD, state))[0])
    return LAYOUT.entry(state.number)


def decide_in_an_old_epoch(lake: Lake) -> str:
    return lake.append(a_window(covered(4, 5), window="1-9"), epoch=1)


def decide_what_was_staged_in_an_old_epoch(lake: Lake) -> str:
    return lake.append(a_window(covered(4, 5), window="1-9"))


def skip_offsets(lake: Lake) -> str:
    return lake.append(a_window(covered(9, 10), window="2-9"))


def deliver_again(lake: Lake) -> str:
    return lake.append(a_window(covered(0, 1), window="2-9"))


OS_SYSTEM = {"kind": "claim", "owner": "me", "class": "os.system"}

CASES = [
    *(
        Case(f"bit flipped at {at} of entry {number}", set_bytes(number, flip(at)), EntryDamaged)
        for number, at in [(0, 0.5), (3, 0), (3, 0.04), (3, 0.2), (3, 0.5), (3, 0.97), (3, 1)]
    ),
    Case(
        "truncated", set_bytes(3, lambda raw: raw[:-1]), EntryDamaged, "edited, truncated or torn"
    ),
    Case("empty", set_bytes(3, lambda _raw: b""), EntryDamaged, "the file is empty"),
    Case("cut in half", set_bytes(3, lambda raw: raw[: len(raw) // 2]), EntryDamaged),
    Case(
        "torn half",
        set_bytes(3, lambda raw: raw[: len(raw) // 2] + bytes(len(raw) - len(raw) // 2)),
        EntryDamaged,
    ),
    Case(
        "not JSON", set_bytes(3, lambda _raw: b"\x89PNG\r\n"), EntryDamaged, "begin like an entry"
    ),
    Case("foreign JSON", set_bytes(3, lambda _raw: b'{"version": 3}'), EntryDamaged),
    Case("JSON laid out anew", set_bytes(3, lambda raw: raw.replace(b",", b", ")), EntryDamaged),
    Case("copied to the tail", copy_to_the_tail, EntryMisplaced, "says that its number is 3"),
    Case("copied over the next", copy_over_the_next, EntryMisplaced, "says that its number is 3"),
    Case("newer format", edit(3, format=FORMAT + 1, invented=True), EntryNewer, "upgrade"),
    Case(
        "newer step",
        edit(3, format=FORMAT + 1, body=with_steps([{"step": "commit_table", "table": "t"}])),
        EntryNewer,
        "upgrade",
    ),
    Case("older format", edit(3, format=0), EntryDamaged, "never a format 0"),
    Case("unknown field", edit(3, invented=True), EntryDamaged, "invented"),
    Case("unknown field inside", edit_body(3, invented=True), EntryDamaged, "invented"),
    Case("unknown kind", edit_body(3, kind="teleport"), EntryDamaged, "teleport"),
    Case("a class path", edit(3, body=OS_SYSTEM), EntryDamaged, "class"),
    Case("an impossible range", edit_body(3, ranges=[{}]), EntryDamaged),
    Case("missing in the middle", remove_from_the_middle, EntryMissing, "is missing, but"),
    Case("chained to another", edit(3, previous="f" * 64), ChainBroken, "ffffffffffffffff"),
    Case("replaced without a trace", rewrite_without_a_trace, ChainBroken),
    Case("another feed", edit(3, feed="other"), EntryForeign, "feed 'other'"),
    Case("another lake", edit(3, lake="lake-2"), EntryForeign, "lake 'lake-2'"),
    Case("another incarnation", edit(3, incarnation=2), EntryForeign, "incarnation '2'"),
    Case("old epoch", decide_in_an_old_epoch, EntryImpossible, "it is of epoch 1"),
    Case("staged in an old epoch", decide_what_was_staged_in_an_old_epoch, EntryImpossible, "1-9"),
    Case("skipped offsets", skip_offsets, EntryImpossible, "does not start at the watermark 4"),
    Case("delivered again", deliver_again, EntryImpossible, "does not start at the watermark 4"),
    Case("journal removed", remove_the_journal, JournalMissing, "There is no journal at"),
    Case("only data left", keep_only_data, JournalMissing, "There is no journal at"),
    Case("tail cut", cut_the_tail, JournalCut, "proves that it was longer"),
    Case("older backup", restore_an_older_backup, JournalCut, "proves that it was longer"),
    Case("checkpoint beyond", whole_checkpoint_beyond, JournalCut, "proves that it was longer"),
    Case("broken checkpoint beyond", broken_checkpoint_beyond, JournalCut, "was longer"),
    Case(
        "done marker of another entry",
        set_marker(LAYOUT.marker(3), lambda raw: raw.replace(b'"sha256":"', b'"sha256":"f')),
        MarkerWrong,
        "it is for entry 3 with hash f",
    ),
    Case("garbage done marker", set_marker(LAYOUT.marker(3), lambda _raw: b"{"), MarkerWrong),
    Case("empty done marker", set_marker(LAYOUT.marker(3), lambda _raw: b""), MarkerWrong),
    Case("tail mark of another entry", set_tail_mark, MarkerWrong, "it is for entry 9"),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_everybody_stops_with_the_one_right_sentence_and_changes_nothing(
    lake: Lake, case: Case
) -> None:
    named = case.damage(lake)
    before = lake.snapshot()
    errors = [opens(lake) for opens in (by_owner, by_cleaner, by_compaction)]
    printed = print_journal(lake.root)
    for error in errors:
        assert type(error) is case.error
        assert error.exit_code == 5
        assert case.says in str(error)
        assert named in str(error)
        assert "nothing was changed" in error.advice
        assert any(
            word in error.advice for word in ("backup", "restore", "upgrade", "move", "give")
        )
    assert (printed.returncode, printed.stdout) == (5, "")
    assert printed.stderr == f"{errors[0]}\n"
    assert lake.snapshot() == before


def test_a_checkpoint_of_another_history_stops_whoever_would_start_from_it(lake: Lake) -> None:
    named = checkpoint_of_another_history(lake)
    before = lake.snapshot()
    for opens in (by_owner, by_cleaner):
        error = opens(lake)
        assert type(error) is ChainBroken
        assert named in str(error)
    assert print_journal(lake.root).stderr == f"{error}\n"
    assert lake.snapshot() == before


def test_an_undamaged_lake_is_opened_by_everybody(lake: Lake) -> None:
    """Goal: the cases fail for the reason they name. Method: damage nothing."""
    assert clean(lake.room().journal()).total == 0
    assert lake.room().journal().open(deep=True).state.undone == {}
    before = lake.snapshot()
    shown = print_journal(lake.root)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert lake.snapshot() == before
    an_owner(lake.room())


def test_strangers_in_the_journals_directories_are_left_alone(lake: Lake) -> None:
    for name in ("notes.txt", "00000000000000000003.json.bak", "3.json", ".hidden"):
        for number in (3, 30_000):
            lake.put(f"{LAYOUT.journal}/{number // 10_000}/{name}", b"?")
            lake.put(f"{LAYOUT.done}/{number // 10_000}/{name}", b"?")
        lake.put(f"{LAYOUT.checkpoints}/{name}", b"?")
        lake.put(f"{LAYOUT.tails}/{name}", b"?")
    before = lake.snapshot()
    for deep in (False, True):
        assert lake.room().journal().open(deep=deep).state.number == lake.tail()
    assert lake.snapshot() == before


@pytest.fixture(scope="session")
def with_manifest(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One window of more files than an entry holds."""
    source = SimKafka({0: [f"d{number}" for number in range(INLINE_FILES + 5)]})
    root = tmp_path_factory.mktemp("large") / "lake"
    return make_lake(root, source, max_records=2 * INLINE_FILES)


@pytest.mark.parametrize(("damage", "why"), [("gone", "it is gone"), ("edited", "hash is wrong")])
def test_whoever_needs_a_manifest_stops_when_it_is_not_what_was_recorded(
    with_manifest: Lake, damage: str, why: str
) -> None:
    """An owner and a cleaner do not: they never look at what a done window delivered."""
    (key,) = (str(path.relative_to(with_manifest.root)) for path in _manifests(with_manifest))
    raw = with_manifest.raw(key)
    if damage == "gone":
        with_manifest.remove(key)
    else:
        with_manifest.put(key, raw[:-1] + b"?")
    try:
        before = with_manifest.snapshot()
        error = by_compaction(with_manifest)
        printed = print_journal(with_manifest.root, "--deep")
        assert type(error) is ManifestDamaged
        assert key in str(error)
        assert why in str(error)
        assert (printed.returncode, printed.stdout, printed.stderr) == (5, "", f"{error}\n")
        assert print_journal(with_manifest.root).returncode == 0
        assert clean(with_manifest.room().journal()).total == 0
        assert with_manifest.snapshot() == before
    finally:
        with_manifest.put(key, raw)


def _manifests(lake: Lake) -> list[Path]:
    return list((lake.root / LAYOUT.manifests).iterdir())


def test_the_printed_journal_is_a_table_for_people_and_json_for_programs(lake: Lake) -> None:
    table = print_journal(lake.root).stdout.splitlines()
    assert f"entries    {lake.tail() + 1}" in table
    assert "epoch      2, owner second" in table
    assert "watermark  events/0 4" in table
    shown = json.loads(print_journal(lake.root, "--output", "json").stdout)
    assert shown["entries"] == lake.tail() + 1
    assert shown["watermarks"] == {"events/0": 4, "events/1": 3}
    assert (shown["undone"], shown["parked"], shown["notices"]) == ([], {}, [])


def test_the_printed_journal_tells_what_is_undone_and_what_was_passed_over(lake: Lake) -> None:
    lake.remove(LAYOUT.marker(3))
    lake.put(LAYOUT.checkpoint(2), b"garbage")
    shown = json.loads(print_journal(lake.root, "--output", "json").stdout)
    assert [undone["number"] for undone in shown["undone"]] == [3]
    assert LAYOUT.checkpoint(2) in shown["notices"][0]


@pytest.mark.parametrize(
    ("lake_name", "feed", "says"),
    [
        ("nowhere", "feed", "There is no lake at"),
        ("plain", "feed", "_penstock/lake.json' is absent"),
        ("lake", "other", "has no feed 'other'"),
        ("lake", "../feed", "BAD_KEY"),
        ("lake", "", "BAD_KEY"),
    ],
)
def test_a_lake_or_feed_that_is_not_there_is_not_created(
    lake: Lake, lake_name: str, feed: str, says: str
) -> None:
    parent = lake.root.parent
    (parent / "plain").mkdir()
    before = Lake(parent).snapshot()
    printed = print_journal(parent / lake_name, feed=feed)
    assert (printed.returncode, printed.stdout) == (2, "")
    assert says in printed.stderr
    assert len(printed.stderr.splitlines()) == 1
    assert Lake(parent).snapshot() == before


def test_a_damaged_lake_identity_is_named(lake: Lake) -> None:
    lake.put(LAKE_KEY, b"{}")
    printed = print_journal(lake.root)
    assert printed.returncode == 5
    assert LAKE_KEY in printed.stderr


def test_the_command_says_the_same_in_a_process_of_its_own(lake: Lake) -> None:
    whole = print_journal_apart(str(lake.root), "feed", "--output", "json")
    assert whole == print_journal(lake.root, "--output", "json")
    lake.remove(LAYOUT.entry(2))
    broken = print_journal_apart(str(lake.root), "feed")
    assert broken == print_journal(lake.root)
    assert broken.returncode == 5


def test_the_help_shows_an_example() -> None:
    shown = print_journal_apart("--help")
    assert shown.returncode == 0
    assert "python -m penstock.cli.journal_dump ./lake events" in shown.stdout


def test_the_whole_lake_holds_several_windows_of_two_owners(whole: Lake) -> None:
    """Goal: the numbers that the cases use mean what they say."""
    journal = whole.room().journal()
    kinds = [type(journal.require(number).body) for number in range(whole.tail() + 1)]
    assert kinds[3] is Window
    assert kinds.count(Window) >= 3
    assert kinds[-1] is kinds[-2] is Window
