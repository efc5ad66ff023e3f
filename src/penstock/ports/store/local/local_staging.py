"""Staged files on a local disk: opened, looked at, published, listed and discarded."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import assert_never

from penstock.errors import BadKey, ForeignFile, StagedGone, StoreUnavailable, StoreUnfit
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.local.disk import Disk, OpenFile
from penstock.ports.store.local.linking import Linked, Names
from penstock.ports.store.local.local_staged import LocalStagedWriter
from penstock.ports.store.local.tree import DirectoryWalks, Parts, Seen, Tree, require_regular
from penstock.ports.store.os_errors import after_it_began, before_it_begins
from penstock.ports.store.publish_each import those_that_fail
from penstock.runtime.surroundings import side_by_side

KIND = "local"
SUFFIX = ".staged"
TRIES = 3
READ_AGAIN_AFTER_S = 600.0  # older staged files are compared with their checksums


class LocalStaging:
    """The staged half of `LocalStore`; the methods are those of the store protocol."""

    def __init__(self, tree: Tree, disk: Disk, clock: Callable[[], float]) -> None:
        self._tree = tree
        self._disk = disk
        self._clock = clock
        self._names = Names(disk, tree)
        self._moments = count(1)
        self._last_synced: tuple[Parts, int] = (
            (),
            0,
        )  # the last directory, and when its sync began

    def open(self, final: str, spot: StagingSpot) -> LocalStagedWriter:
        """Begin `<prefix>/<window>/<attempt>.staged`, which must not exist yet."""
        self._tree.locate(final)
        directory = (*check_key(spot.prefix), check_component(spot.window))
        staged = "/".join((*directory, check_component(spot.attempt) + SUFFIX))
        parts = self._tree.locate(staged)
        with before_it_begins("stage", staged):
            walked, file = self._open_new(parts)
        make_durable = partial(self.make_staged_durable, directory, walked)
        tidy = partial(self._tree.remove_if_empty, directory)
        handle = StagedHandle(KIND, staged, final, size_bytes=0, checksum="")
        return LocalStagedWriter(self._disk, file, handle, self.now, make_durable, tidy)

    def now(self) -> int:
        """A number that is larger than all before it."""
        return next(self._moments)

    def make_staged_durable(self, directory: Parts, walked: list[Seen], since: int) -> None:
        """Make the names in a window's directory durable, unless that was begun since a moment.

        The caller had a file there at that moment, and has it still: so the directory was not
        removed meanwhile, and one sync is as good for all files that were whole before it began.
        """
        last_synced, began = self._last_synced
        if last_synced == directory and began > since:
            return
        began = self.now()
        # The directory of a window is removed when it is empty, and may have been made again.
        self._tree.forget(directory)
        self._tree.make_durable(walked)
        self._last_synced = (directory, began)

    def look(self, handle: StagedHandle) -> Sighting:
        """The staged file first, then the final name, by size and checksum.

        A power cut cannot undo what it reports as done: the publisher may have died before the
        last sync, so the directories are synced here.
        """
        staged, final = self._places(handle)
        with before_it_begins("look at", handle.final):
            is_staged = self._is_whole(handle, staged, self._new_walks())
            sighting = Sighting(final=self._final_state(handle, final), staged=is_staged)
            if sighting.is_done:
                self._tree.make_durable(self._tree.walk(final[:-1]))
                self._tree.make_removal_durable(staged[:-1])
                self._tree.make_removal_durable(staged[:-2])  # as in `_make_consumed_durable`
            return sighting

    def publish(self, handle: StagedHandle) -> None:
        """Make the final name and sync it; only then take the staged name away and sync that.

        The window's directory goes with the last name in it, or each window would leave one.
        """
        self._make_final_durable(handle, self._show(handle, self._new_walks()))
        self._consume(handle, self._new_walks())
        self._make_consumed_durable(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """Make all final names, sync each directory, take all staged names away, sync again.

        Each file goes the way of `publish`, only together with the others of its directory: a
        window of hundreds of datasets would wait for thousands of syncs otherwise.
        """
        walked: dict[str, list[Seen]] = {}
        showing, consuming = self._new_walks(), self._new_walks()

        def show(handle: StagedHandle) -> None:
            walked[handle.final] = self._show(handle, showing)

        def make_durable(handle: StagedHandle) -> None:
            self._make_final_durable(handle, walked[handle.final])

        left = those_that_fail(show, handles)
        left |= _once_per_directory(make_durable, _without(handles, left), _final_directory)
        consume = partial(self._consume, walks=consuming)
        left |= those_that_fail(consume, _without(handles, left))
        consumed = _without(handles, left)
        left |= _once_per_directory(self._make_consumed_durable, consumed, _staged_directory)
        return left

    def refs(self, base: str, keys: list[str]) -> list[StagedRef]:
        """Those keys below the staging prefix `base` that are staged files; no strangers."""
        found = []
        for key in keys:
            window, slash, name = key.removeprefix(base).partition("/")
            if slash and "/" not in name and name.endswith(SUFFIX):
                found.append(StagedRef(place=key, window=window))
        return found

    def discard(self, ref: StagedRef) -> None:
        """Unlink a staged file durably, and remove its window's directory once that is empty."""
        parts = self._tree.locate(ref.place)
        if not ref.place.endswith(SUFFIX):
            raise BadKey(ref.place, f"the name of a staged file ends in {SUFFIX}")
        self._names.take("discard", ref.place, parts)
        with after_it_began("discard", ref.place):
            self._tree.remove_if_empty(parts[:-1])

    def _open_new(self, parts: Parts) -> tuple[list[Seen], OpenFile]:
        """Open the file; again when the window's directory was removed as empty in between."""
        for _ in range(TRIES - 1):
            with suppress(FileNotFoundError):
                return self._tree.make(parts[:-1]), self._disk.open_new(self._tree.path(parts))
        return self._tree.make(parts[:-1]), self._disk.open_new(self._tree.path(parts))

    def _places(self, handle: StagedHandle) -> tuple[Parts, Parts]:
        if handle.store != KIND:
            seen = f"this one comes from a store of kind {handle.store!r}"
            raise StoreUnfit(self._tree.root, "publish what others staged", seen)
        return self._tree.locate(handle.staged), self._tree.locate(handle.final)

    def _new_walks(self) -> DirectoryWalks:
        return DirectoryWalks(self._tree, self._disk)

    def _show(self, handle: StagedHandle, walks: DirectoryWalks) -> list[Seen]:
        """Bring the final name about; the directories on the way to it are not synced yet."""
        staged, final = self._places(handle)
        for _ in range(TRIES):
            walked = self._appear(handle, staged, final, walks)
            if walked is not None:
                return walked
            walks = self._new_walks()  # a directory was removed since it was walked
        why = f"its staged file or its directory vanished {TRIES} times"
        raise StoreUnavailable("publish", handle.final, why)

    def _make_final_durable(self, handle: StagedHandle, walked: list[Seen]) -> None:
        with after_it_began("publish", handle.final):
            self._tree.make_durable(walked)

    def _consume(self, handle: StagedHandle, walks: DirectoryWalks) -> None:
        """Take the staged name away. Only when the final one is durable."""
        staged, _ = self._places(handle)
        with after_it_began("publish", handle.final):
            if self._staged_status(handle, staged, walks) is not None:
                with suppress(FileNotFoundError):
                    self._disk.unlink(self._tree.path(staged))

    def _make_consumed_durable(self, handle: StagedHandle) -> None:
        """Make it last that a staged name is gone; with the last one its directory goes, too.

        Another publisher may have removed that directory before us, and another attempt made it
        again: then the new one is synced first. Its parent is synced after that, and no longer
        has the old one.
        """
        staged, _ = self._places(handle)
        with after_it_began("publish", handle.final):
            self._tree.make_removal_durable(staged[:-1])
            self._tree.remove_if_empty(staged[:-1])
            self._tree.make_removal_durable(staged[:-2])

    def _appear(
        self, handle: StagedHandle, staged: Parts, final: Parts, walks: DirectoryWalks
    ) -> list[Seen] | None:
        """Bring the final name about, or prove that it is ours; None when the ground moved.

        Returns the directories on the way to it, which are not synced yet.
        """
        with before_it_begins("publish", handle.final):
            try:
                if not self._is_whole(handle, staged, walks):
                    self._require_ours(handle, final)
                    return self._tree.walk(final[:-1])
                walked = walks.make(final[:-1])
            except FileNotFoundError:
                return None
        source, target = self._tree.path(staged), self._tree.path(final)
        linked = self._names.give("publish", handle.final, source, target)
        match linked:
            case Linked.VANISHED:
                return None
            case Linked.TAKEN:
                with before_it_begins("publish", handle.final):
                    self._require_ours(handle, final)
                return walked
            case Linked.OURS:
                return walked
            case _ as never:
                assert_never(never)

    def _staged_status(
        self, handle: StagedHandle, staged: Parts, walks: DirectoryWalks
    ) -> os.stat_result | None:
        """The status of the staged file; None when it is not there in full, and of no use."""
        status = walks.status(staged)
        if status is None:
            return None
        require_regular(status, self._tree.path(staged))
        return status if status.st_size == handle.size_bytes else None

    def _is_whole(self, handle: StagedHandle, staged: Parts, walks: DirectoryWalks) -> bool:
        """True when the staged file is there in full and nothing tells that it has changed.

        What a window has just written is believed: it was hashed on its way and synced. What has
        lain there for longer, because a run died or a dataset waits, is read once more.
        """
        status = self._staged_status(handle, staged, walks)
        if status is None:
            return False
        if status.st_mtime >= self._clock() - READ_AGAIN_AFTER_S:
            return True
        try:
            return f"sha256:{self._disk.checksum(self._tree.path(staged))}" == handle.checksum
        except FileNotFoundError:
            return False

    def _require_ours(self, handle: StagedHandle, final: Parts) -> None:
        match self._final_state(handle, final):
            case FinalState.ABSENT:
                raise StagedGone(handle.staged, handle.final)
            case FinalState.FOREIGN:
                wanted = f"{handle.size_bytes} bytes with {handle.checksum}"
                raise ForeignFile(handle.final, wanted, self._describe(final))
            case FinalState.OURS:
                return
            case _ as never:
                assert_never(never)

    def _final_state(self, handle: StagedHandle, final: Parts) -> FinalState:
        """Judge by size first, so that a big stranger is not read."""
        status = self._tree.status(final)
        if status is None:
            return FinalState.ABSENT
        if not stat.S_ISREG(status.st_mode) or status.st_size != handle.size_bytes:
            return FinalState.FOREIGN
        try:
            checksum = self._disk.checksum(self._tree.path(final))
        except FileNotFoundError:
            return FinalState.ABSENT
        is_ours = f"sha256:{checksum}" == handle.checksum
        return FinalState.OURS if is_ours else FinalState.FOREIGN

    def _describe(self, final: Parts) -> str:
        status = self._tree.status(final)
        if status is None:
            return "something that has vanished since"
        if not stat.S_ISREG(status.st_mode):
            return f"{stat.filemode(status.st_mode)}, which is not a regular file"
        return f"{status.st_size} bytes with another content"


def _final_directory(handle: StagedHandle) -> str:
    return handle.final.rpartition("/")[0]


def _staged_directory(handle: StagedHandle) -> str:
    return handle.staged.rpartition("/")[0]


def _without(handles: Iterable[StagedHandle], left: set[str]) -> list[StagedHandle]:
    return [handle for handle in handles if handle.final not in left]


def _once_per_directory(
    act: Callable[[StagedHandle], None],
    handles: list[StagedHandle],
    directory: Callable[[StagedHandle], str],
) -> set[str]:
    """Act on one file of each directory, since it is the directory that is synced.

    Returns the final names of all files of the directories for which it failed.
    """
    members: dict[str, list[StagedHandle]] = {}
    for handle in handles:
        members.setdefault(directory(handle), []).append(handle)
    failed = those_that_fail(act, [each[0] for each in members.values()], side_by_side)
    bad = [each for each in members.values() if each[0].final in failed]
    return {handle.final for each in bad for handle in each}
