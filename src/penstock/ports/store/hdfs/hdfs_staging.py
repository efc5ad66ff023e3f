"""Staged files on HDFS: written, looked at, renamed, listed and discarded."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import BinaryIO, assert_never

from hdfs_native import FileStatus

from penstock.errors import BadKey, ForeignFile, StagedGone, StoreUnavailable, StoreUnfit
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.breaker import Breaker
from penstock.ports.store.hdfs.hdfs_files import BLOCK_BYTES, HdfsFiles
from penstock.ports.store.hdfs.hdfs_moves import Move, Moves
from penstock.ports.store.hdfs.hdfs_names import Names
from penstock.ports.store.hdfs.hdfs_settings import HDFS
from penstock.ports.store.hdfs.hdfs_staged import HdfsStagedWriter
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.publish_each import those_that_fail
from penstock.runtime.surroundings import side_by_side

SUFFIX = ".staged"
TRIES = 3
READ_AGAIN_AFTER_S = 600.0  # older staged files are compared with their checksums


class HdfsStaging:
    """The staged half of `HdfsStore`; the methods are those of the store protocol."""

    def __init__(
        self, uri: str, names: Names, files: HdfsFiles, moves: Moves, clock: Callable[[], float]
    ) -> None:
        self._uri = uri
        self._names = names
        self._files = files
        self._moves = moves
        self._clock = clock

    def open(self, final: str, spot: StagingSpot) -> HdfsStagedWriter:
        """Begin `<prefix>/<window>/<attempt>.staged`; a later try to send it has a number."""
        self._names.path(final)
        window = (*check_key(spot.prefix), check_component(spot.window))
        attempt = check_component(spot.attempt)

        def key_of(number: int) -> str:
            tried = f".{number}" if number else ""
            return "/".join((*window, check_component(f"{attempt}{tried}{SUFFIX}")))

        def send(content: Callable[[], BinaryIO]) -> str:
            sent: list[str] = []

            def path_of(number: int) -> str:
                sent.append(key_of(number))
                return self._names.path(sent[-1])

            self._files.write_new("stage", key_of(0), path_of, content)
            return sent[-1]

        self._names.path(key_of(0))
        return HdfsStagedWriter(HDFS, final, send, self._take_away)

    def look(self, handle: StagedHandle) -> Sighting:
        """The staged file first, then the final name, by size and checksum."""
        staged, final = self._places(handle)
        is_staged = self._is_whole(handle, staged)
        return Sighting(final=self._final_state(handle, final), staged=is_staged)

    def publish(self, handle: StagedHandle) -> None:
        """Rename, and settle by identity; the window's directory goes with the last file in it."""
        self._publish(handle)
        self._tidy([handle])

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, on several threads; the final names that failed."""
        publish = Breaker().guarded(self._publish, "publish")
        left = those_that_fail(publish, handles, side_by_side)
        self._tidy(handles)
        return left

    def refs(self, base: str, keys: Iterable[str]) -> list[StagedRef]:
        """Those keys below the staging prefix `base` that are staged files; no strangers."""
        found = []
        for key in keys:
            window, slash, name = key.removeprefix(base).partition("/")
            if slash and "/" not in name and name.endswith(SUFFIX):
                found.append(StagedRef(place=key, window=window))
        return found

    def discard(self, ref: StagedRef) -> None:
        """Delete a staged file, and remove its window's directory once that is empty."""
        self._names.path(ref.place)
        if not ref.place.endswith(SUFFIX):
            raise BadKey(ref.place, f"the name of a staged file ends in {SUFFIX}")
        self._take_away(ref.place)

    def _take_away(self, staged: str) -> None:
        path = self._names.path(staged)
        self._files.delete("discard", staged, path)
        self._files.remove_if_empty(path.rpartition("/")[0])

    def _tidy(self, handles: Sequence[StagedHandle]) -> None:
        directories = {self._names.path(each.staged).rpartition("/")[0] for each in handles}
        side_by_side([partial(self._files.remove_if_empty, each) for each in sorted(directories)])

    def _places(self, handle: StagedHandle) -> tuple[str, str]:
        if handle.store != HDFS:
            seen = f"this one comes from a store of kind {handle.store!r}"
            raise StoreUnfit(self._uri, "publish what others staged", seen)
        return self._names.path(handle.staged), self._names.path(handle.final)

    def _publish(self, handle: StagedHandle) -> None:
        staged, final = self._places(handle)
        for _ in range(TRIES):
            if not self._is_whole(handle, staged):
                self._require_ours(handle, final)
                return
            move = self._moves.move("publish", handle.final, staged, final)
            match move:
                case Move.DONE:
                    return
                case Move.GONE:
                    self._require_ours(handle, final)
                    return
                case Move.TAKEN:
                    if self._final_state(handle, final) is not FinalState.ABSENT:
                        self._require_ours(handle, final)
                        self._files.delete("publish", handle.final, staged)
                        return
                case _ as never:
                    assert_never(never)
        why = f"another file appeared at its name and vanished {TRIES} times"
        raise StoreUnavailable("publish", handle.final, why)

    def _is_whole(self, handle: StagedHandle, staged: str) -> bool:
        """True when the staged file is there in full and nothing tells that it has changed.

        A file whose writer died has no length, or too little. What a window has just written is
        believed; what has lain there for longer is read once more.
        """
        status = self._files.status("publish", handle.final, staged)
        if status is None or status.isdir or status.length != handle.size_bytes:
            return False
        if status.modification_time / 1000 >= self._clock() - READ_AGAIN_AFTER_S:
            return True
        return self._checksum(handle, staged) == handle.checksum

    def _require_ours(self, handle: StagedHandle, final: str) -> None:
        match self._final_state(handle, final):
            case FinalState.ABSENT:
                raise StagedGone(handle.staged, handle.final)
            case FinalState.FOREIGN:
                wanted = f"{handle.size_bytes} bytes with {handle.checksum}"
                seen = _describe(self._files.status("publish", handle.final, final))
                raise ForeignFile(handle.final, wanted, seen)
            case FinalState.OURS:
                return
            case _ as never:
                assert_never(never)

    def _final_state(self, handle: StagedHandle, final: str) -> FinalState:
        """Judge by size first, so that a big stranger is not read."""
        status = self._files.status("look at", handle.final, final)
        if status is None:
            return FinalState.ABSENT
        if status.isdir or status.length != handle.size_bytes:
            return FinalState.FOREIGN
        checksum = self._checksum(handle, final)
        if checksum is None:
            return FinalState.ABSENT
        return FinalState.OURS if checksum == handle.checksum else FinalState.FOREIGN

    def _checksum(self, handle: StagedHandle, path: str) -> str | None:
        file = self._files.open(handle.final, path)
        if file is None:
            return None
        digest = hashlib.sha256()
        with file:
            while piece := file.read(BLOCK_BYTES):
                digest.update(piece)
        return f"sha256:{digest.hexdigest()}"


def _describe(status: FileStatus | None) -> str:
    if status is None:
        return "something that has vanished since"
    if status.isdir:
        return "a directory"
    return f"{status.length} bytes with another content"
