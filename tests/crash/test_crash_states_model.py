"""The model of a power cut, on sequences small enough to work out by hand."""

from pathlib import Path

from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.crash_states import EMPTY, CrashState, crash_states, materialise
from penstock.testing.fault_disks import (
    Append,
    Link,
    MakeDirectory,
    NewFile,
    Operation,
    RecordingDisk,
    RemoveDirectory,
    SyncDirectory,
    SyncFile,
    Unlink,
)

ROOT = SyncDirectory("")


def trees(*operations: Operation, start: CrashState = EMPTY) -> list[dict[str, str]]:
    """All different trees, in the order in which they become possible."""
    return [tree(state) for state in crash_states(operations, start=start, marks=())]


def last_trees(*operations: Operation, start: CrashState = EMPTY) -> list[dict[str, str]]:
    """The trees that are possible when all operations were done."""
    states = crash_states(operations, start=start)
    return [tree(state) for state in states if state.done == len(operations)]


def tree(state: CrashState) -> dict[str, str]:
    """A mapping of paths to contents; a directory ends in a slash."""
    folders = {f"{path}/": "" for path in state.directories}
    return folders | {path: state.read(path).decode() for path in state.files}


def test_nothing_done_leaves_an_empty_disk() -> None:
    assert trees() == [{}]


def test_a_new_file_may_be_absent_empty_torn_or_whole() -> None:
    found = trees(NewFile("a"), Append("a", b"1234"))
    assert found == [{}, {"a": ""}, {"a": "1234"}, {"a": "12"}]


def test_a_synced_file_under_an_unsynced_name_is_absent_or_whole() -> None:
    assert last_trees(NewFile("a"), Append("a", b"1234"), SyncFile("a")) == [{"a": "1234"}, {}]


def test_after_the_syncs_only_one_state_is_left() -> None:
    assert last_trees(NewFile("a"), Append("a", b"1234"), SyncFile("a"), ROOT) == [{"a": "1234"}]


def test_a_sync_of_the_name_alone_does_not_keep_the_bytes() -> None:
    found = trees(NewFile("a"), ROOT, Append("a", b"1234"))
    assert found == [{}, {"a": ""}, {"a": "1234"}, {"a": "12"}]


def test_bytes_after_a_sync_can_be_lost_but_not_those_before() -> None:
    begun = CrashState("begun", files={"a": 1}, contents={1: b"12"})
    assert trees(Append("a", b"3456"), start=begun) == [{"a": "12"}, {"a": "123456"}, {"a": "1234"}]


def test_a_lost_directory_takes_with_it_what_is_inside() -> None:
    inside = SyncDirectory("d")
    assert last_trees(MakeDirectory("d"), NewFile("d/a"), inside) == [{"d/": "", "d/a": ""}, {}]
    assert last_trees(MakeDirectory("d"), NewFile("d/a"), ROOT) == [
        {"d/": "", "d/a": ""},
        {"d/": ""},
    ]


def test_a_link_survives_the_loss_of_the_name_it_was_made_from() -> None:
    begun = CrashState("begun", directories=("t", "d"))
    assert last_trees(
        NewFile("t/a"),
        Append("t/a", b"1234"),
        SyncFile("t/a"),
        Link("t/a", "d/b"),
        SyncDirectory("d"),
        start=begun,
    ) == [
        {"d/": "", "t/": "", "t/a": "1234", "d/b": "1234"},
        {"d/": "", "t/": "", "d/b": "1234"},
    ]


def test_two_names_share_their_bytes_and_lose_them_together() -> None:
    found = trees(NewFile("a"), Append("a", b"1234"), Link("a", "b"))
    assert {"a": "", "b": ""} in found
    assert {"a": "12", "b": "12"} in found
    assert {"b": "1234"} in found
    assert not [one for one in found if len(set(one.values())) > 1]


def test_a_name_that_was_taken_away_may_be_back() -> None:
    begun = CrashState("begun", files={"a": 1}, contents={1: b"1234"})
    assert trees(Unlink("a"), start=begun) == [{"a": "1234"}, {}]
    assert last_trees(Unlink("a"), ROOT, start=begun) == [{}]


def test_a_directory_that_was_removed_may_be_back() -> None:
    begun = CrashState("begun", directories=("d",), files={"d/a": 1}, contents={1: b"1"})
    found = trees(Unlink("d/a"), RemoveDirectory("d"), start=begun)
    assert found == [{"d/": "", "d/a": "1"}, {"d/": ""}, {}]


def test_a_name_that_is_used_again_can_show_each_of_its_files() -> None:
    begun = CrashState("begun", files={"a": 1}, contents={1: b"old"})
    found = last_trees(
        Unlink("a"),
        NewFile("a"),
        Append("a", b"ne"),
        SyncFile("a"),
        Unlink("a"),
        start=begun,
    )
    assert {"a": "old"} in found
    assert {"a": "ne"} in found
    assert {} in found
    assert len(found) == 3


def test_no_more_than_the_allowed_number_is_lost() -> None:
    operations: list[Operation] = [NewFile(name) for name in "abcd"]
    assert {len(one) for one in trees(*operations)} == {0, 1, 2, 3, 4}
    last = [
        len(state.files) for state in crash_states(operations, max_dropped=1) if state.done == 4
    ]
    assert sorted(last) == [3, 3, 3, 3, 4]


def test_equal_trees_come_once_and_linked_names_are_not_equal_to_copies() -> None:
    found = trees(NewFile("a"), NewFile("b"), Unlink("b"), Link("a", "b"))
    assert found.count({"a": "", "b": ""}) == 2
    assert found.count({"a": ""}) == 1


def test_an_equal_tree_comes_again_after_a_mark_since_more_may_be_promised_then() -> None:
    operations: list[Operation] = [NewFile("a"), NewFile("b"), NewFile("c")]
    empty = [state.done for state in crash_states(operations) if not state.files]
    assert empty == [0, 1, 2, 3]
    marked = [state.done for state in crash_states(operations, marks=[2]) if not state.files]
    assert marked == [0, 2]


def test_names_in_a_quiet_directory_are_never_lost() -> None:
    operations: list[Operation] = [MakeDirectory("t"), NewFile("t/a"), Unlink("t/a"), NewFile("b")]
    loud = [tree(state) for state in crash_states(operations)]
    quiet = [tree(state) for state in crash_states(operations, quiet=("t",))]
    assert {"t/": "", "t/a": "", "b": ""} in loud
    assert {"t/": "", "t/a": "", "b": ""} not in quiet
    assert {"b": ""} in quiet, "the directory itself can be lost"


def test_a_state_says_what_was_done_and_what_was_lost() -> None:
    operations: list[Operation] = [NewFile("a"), Append("a", b"12"), Link("a", "b"), Unlink("a")]
    found = [state.description for state in crash_states(operations)]
    assert found[0] == "prefix 0 of 4, dropped: nothing"
    assert "prefix 3 of 4, dropped: create a" in found
    assert "prefix 3 of 4, dropped: create a, data of a" in found
    assert "prefix 3 of 4, dropped: half of the data of a" in found
    assert "prefix 4 of 4, dropped: link a -> b" in found


def test_states_come_one_by_one() -> None:
    """So many of them that making all would take hours."""
    operations: list[Operation] = [NewFile(f"{number}") for number in range(300)]
    states = crash_states(operations)
    assert tree(next(states)) == {}
    assert tree(next(states)) == {"0": ""}


def test_a_state_becomes_a_real_directory(tmp_path: Path) -> None:
    state = CrashState(
        "made up",
        directories=("d", "d/e"),
        files={"d/a": 1, "d/e/b": 1, "c": 2},
        contents={1: b"shared", 2: b""},
    )
    materialise(state, tmp_path)
    assert (tmp_path / "d/a").read_bytes() == b"shared"
    assert (tmp_path / "d/a").samefile(tmp_path / "d/e/b")
    assert (tmp_path / "c").read_bytes() == b""


def test_the_last_state_of_a_recording_is_the_directory_it_was_made_in(tmp_path: Path) -> None:
    """Goal: nothing that matters escapes the recording. Method: replay it and compare."""
    lake, copy = tmp_path / "lake", tmp_path / "copy"
    copy.mkdir()
    disk = RecordingDisk(lake)
    store = LocalStore(lake, disk)
    store.create("a/b", b"one")
    store.create("a/c", b"two")
    store.delete("a/b")
    states = list(crash_states(disk.operations, max_dropped=0))
    materialise(states[-1], copy)
    assert _content(copy) == _content(lake)


def _content(directory: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in directory.rglob("*")
    }
