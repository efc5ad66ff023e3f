"""Every state in which a power cut can leave a disk, from a recording of what was done to it.

The model knows no more than POSIX promises. A name that was made or taken away is sure to last
once its directory was synced afterwards; the bytes of a file, once the file was. Until then each
may be on the disk or not, on its own and in any order.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import assert_never

from penstock.testing.fault_disks import (
    Append,
    Link,
    MakeDirectory,
    NewFile,
    Operation,
    RemoveDirectory,
    SyncDirectory,
    SyncFile,
    Unlink,
)

ROOT = 0


@dataclass(frozen=True, slots=True)
class CrashState:
    """A tree as it may be found after a crash that came when `done` operations were done.

    Two names of one file share its number in `files`; `contents` has the bytes by that number.
    """

    description: str
    done: int = 0
    directories: tuple[str, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    contents: Mapping[int, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        """The bytes of a file, by one of its names."""
        return self.contents[self.files[path]]


EMPTY = CrashState("an empty disk")


def crash_states(
    operations: Sequence[Operation],
    max_dropped: int = 3,
    quiet: tuple[str, ...] = (),
    start: CrashState = EMPTY,
    marks: Sequence[int] | None = None,
) -> Iterator[CrashState]:
    """Yield each different tree that a crash during these operations can leave.

    For every number of operations done, up to `max_dropped` of those that were not synced yet are
    lost. Names in the directories `quiet` are never lost; that keeps the number of states small
    when a directory is never synced because nobody depends on it. `start` is the durable tree
    that the recording began on.

    The same tree can be right early and wrong late, when more had been promised. So it comes once
    for each number of operations done; or, with `marks`, once between any two of these positions
    of the recording, at which a call began or returned.
    """
    history = _History(start, operations)
    seen: set[bytes] = set()
    for done in range(len(operations) + 1):
        if marks is None or done in marks:
            seen.clear()
        losses = history.losses(done, quiet)
        for count in range(min(max_dropped, len(losses)) + 1):
            for dropped in combinations(losses, count):
                if _contradict(dropped):
                    continue
                state, fingerprint = history.state(done, dropped)
                if fingerprint not in seen:
                    seen.add(fingerprint)
                    yield state


def materialise(state: CrashState, directory: str | os.PathLike[str]) -> None:
    """Build the tree of a state in an empty directory."""
    root = Path(directory)
    for path in sorted(state.directories):
        (root / path).mkdir()
    first_names: dict[int, Path] = {}
    for path, number in sorted(state.files.items()):
        if number in first_names:
            (root / path).hardlink_to(first_names[number])
        else:
            (root / path).write_bytes(state.contents[number])
            first_names[number] = root / path


@dataclass(slots=True)
class _NameChange:
    """A name in a directory was bound to a node, or taken from it. It lasts from `synced_at`."""

    done_at: int
    directory: int
    name: str
    node: int
    is_removal: bool
    text: str
    place: str
    synced_at: int | None = None
    undone_at: int | None = None


@dataclass(slots=True)
class _Bytes:
    """The content of a file: how long it was, and how much of that was synced, after each act."""

    data: bytes = b""
    lengths: list[tuple[int, int]] = field(default_factory=list)
    synced: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Loss:
    """Something that was done and not synced: a change of a name, or the tail of a file."""

    text: str
    change: int | None = None
    node: int | None = None
    kept_bytes: int = 0


def _contradict(losses: tuple[_Loss, ...]) -> bool:
    """A tail cannot be lost in two ways at once."""
    nodes = [loss.node for loss in losses if loss.node is not None]
    return len(nodes) != len(set(nodes))


class _History:
    """What really happened, by the identity of directories and files instead of by names.

    A link refers to a file, so it survives the loss of the name it was made from.
    """

    def __init__(self, start: CrashState, operations: Sequence[Operation]) -> None:
        self._total = len(operations)
        self._changes: list[_NameChange] = []
        self._bytes: dict[int, _Bytes] = {}
        self._live: dict[str, int] = {"": ROOT}
        self._paths: dict[int, str] = {ROOT: ""}
        self._digests: dict[tuple[int, int], bytes] = {}
        self._begin(start)
        for index, operation in enumerate(operations):
            self._apply(index, operation)

    def losses(self, done: int, quiet: tuple[str, ...]) -> list[_Loss]:
        """All that may be lost after the first `done` operations."""
        found = []
        for number, change in enumerate(self._changes):
            if change.done_at >= done or _is_before(change.synced_at, done):
                continue
            # Losing a name that was new, and was taken away again since, makes no difference.
            if change.place not in quiet and not _is_before(change.undone_at, done):
                found.append(_Loss(change.text, change=number))
        for node, content in self._bytes.items():
            length, synced = _latest(content.lengths, done), _latest(content.synced, done)
            if length > synced:
                path = self._paths[node]
                torn = synced + (length - synced) // 2
                found.append(_Loss(f"data of {path}", node=node, kept_bytes=synced))
                found.append(_Loss(f"half of the data of {path}", node=node, kept_bytes=torn))
        return found

    def state(self, done: int, dropped: tuple[_Loss, ...]) -> tuple[CrashState, bytes]:
        """The tree that is left, and its fingerprint."""
        lost = {loss.change for loss in dropped}
        kept = {loss.node: loss.kept_bytes for loss in dropped if loss.node is not None}
        names: dict[int, dict[str, int]] = {}
        for number, change in enumerate(self._changes):
            if change.done_at >= done or number in lost:
                continue
            inside = names.setdefault(change.directory, {})
            if not change.is_removal:
                inside[change.name] = change.node
            elif inside.get(change.name) == change.node:
                del inside[change.name]
        directories, files = self._reachable(names)
        lengths = {
            node: kept.get(node, _latest(self._bytes[node].lengths, done))
            for node in files.values()
        }
        contents = {node: self._bytes[node].data[:length] for node, length in lengths.items()}
        state = CrashState(self._describe(done, dropped), done, tuple(directories), files, contents)
        return state, self._fingerprint(directories, files, lengths)

    def _describe(self, done: int, dropped: tuple[_Loss, ...]) -> str:
        losses = ", ".join(loss.text for loss in dropped) or "nothing"
        return f"prefix {done} of {self._total}, dropped: {losses}"

    def _reachable(self, names: dict[int, dict[str, int]]) -> tuple[list[str], dict[str, int]]:
        """Walk from the root; what lies in a directory that was lost is lost with it."""
        directories: list[str] = []
        files: dict[str, int] = {}
        waiting = [("", ROOT)]
        while waiting:
            base, directory = waiting.pop()
            for name, node in names.get(directory, {}).items():
                path = f"{base}{name}"
                if node in self._bytes:
                    files[path] = node
                else:
                    directories.append(path)
                    waiting.append((f"{path}/", node))
        return sorted(directories), files

    def _fingerprint(
        self, directories: list[str], files: dict[str, int], lengths: dict[int, int]
    ) -> bytes:
        """Equal for equal trees: names, contents, and which names share a file."""
        digest = hashlib.sha256(repr(directories).encode())
        first_names: dict[int, str] = {}
        for path, node in sorted(files.items()):
            first = first_names.setdefault(node, path)
            digest.update(repr((path, first)).encode())
            digest.update(self._digest(node, lengths[node]))
        return digest.digest()

    def _digest(self, node: int, length: int) -> bytes:
        if (node, length) not in self._digests:
            data = self._bytes[node].data[:length]
            self._digests[node, length] = hashlib.sha256(data).digest()
        return self._digests[node, length]

    def _begin(self, start: CrashState) -> None:
        for path in sorted(start.directories):
            self._bind(-1, path, self._new_node(path), "")
        nodes: dict[int, int] = {}
        for path, number in sorted(start.files.items()):
            if number not in nodes:
                nodes[number] = self._new_node(path)
                data = start.contents[number]
                self._bytes[nodes[number]] = _Bytes(data, [(-1, len(data))], [(-1, len(data))])
            self._bind(-1, path, nodes[number], "")
        for change in self._changes:
            change.synced_at = -1

    def _apply(self, index: int, operation: Operation) -> None:
        match operation:
            case MakeDirectory(path):
                self._bind(index, path, self._new_node(path), f"make directory {path}")
            case NewFile(path):
                node = self._new_node(path)
                self._bytes[node] = _Bytes()
                self._bind(index, path, node, f"create {path}")
            # A file that was unlinked while it was being written has no name to lose it under.
            case Append(path) | SyncFile(path) | SyncDirectory(path) if path not in self._live:
                pass
            case Append(path, data):
                content = self._bytes[self._live[path]]
                content.data += data
                content.lengths.append((index, len(content.data)))
            case SyncFile(path):
                content = self._bytes[self._live[path]]
                content.synced.append((index, len(content.data)))
            case Link(source, target):
                self._bind(index, target, self._live[source], f"link {source} -> {target}")
            case Unlink(path):
                self._unbind(index, path, f"unlink {path}")
            case RemoveDirectory(path):
                self._unbind(index, path, f"remove directory {path}")
            case SyncDirectory(path):
                self._sync_names(index, self._live[path])
            case _ as never:
                assert_never(never)

    def _new_node(self, path: str) -> int:
        node = len(self._paths)
        self._paths[node] = path
        return node

    def _bind(self, index: int, path: str, node: int, text: str) -> None:
        parent, _, name = path.rpartition("/")
        change = _NameChange(index, self._live[parent], name, node, False, text, parent)
        self._changes.append(change)
        self._live[path] = node

    def _unbind(self, index: int, path: str, text: str) -> None:
        parent, _, name = path.rpartition("/")
        directory, node = self._live[parent], self._live.pop(path)
        earlier = [one for one in self._changes if (one.directory, one.name) == (directory, name)]
        if len(earlier) == 1:
            earlier[0].undone_at = index
        self._changes.append(_NameChange(index, directory, name, node, True, text, parent))

    def _sync_names(self, index: int, directory: int) -> None:
        for change in self._changes:
            if change.directory == directory and change.synced_at is None:
                change.synced_at = index


def _is_before(index: int | None, done: int) -> bool:
    return index is not None and index < done


def _latest(history: list[tuple[int, int]], done: int) -> int:
    """The last value that was recorded before operation `done`."""
    return next((value for index, value in reversed(history) if index < done), 0)
