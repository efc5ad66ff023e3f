"""Renaming a closed file without overwriting, when the reply may get lost.

A rename is never believed to have failed before its source was looked at: the client may have sent
it twice, and the name node may have done it without our hearing of it. A source that is gone was
moved, by us or by another publisher of the same file; who asks then looks at the target.
"""

from enum import Enum
from typing import assert_never

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.hdfs.hdfs_calls import Calls
from penstock.ports.store.hdfs.hdfs_failures import ERRORS, Failure, Kind
from penstock.ports.store.hdfs.hdfs_files import HdfsFiles


class Move(Enum):
    """What is known after a rename."""

    DONE = "the name node said that it has done it"
    TAKEN = "another file has the name, and the source is there"
    GONE = "the source is not there: look at the target, by identity"


class Moves:
    """Renames. Safe to share between threads."""

    def __init__(self, calls: Calls, files: HdfsFiles) -> None:
        self._calls = calls
        self._files = files

    def move(self, act: str, key: str, source: str, target: str) -> Move:
        """Rename a file that was closed with success, unless something has the name already.

        Raises `StoreUnavailable` if certainly nothing happened, else `OutcomeUnknown`.
        """
        calls = self._calls
        until = calls.waiting.tick() + calls.policy.within_s
        pauses = list(calls.policy.pauses_s(calls.waiting.random))
        doubt: Failure | None = None
        while True:
            try:
                calls.once(lambda client: client.rename(source, target, overwrite=False))
            except ERRORS as error:
                failure = calls.judge(error)
            else:
                return Move.DONE
            waits = False
            match failure.kind:
                case Kind.REFUSED | Kind.NOT_A_DIRECTORY | Kind.NOT_EMPTY:
                    raise _given_up(act, key, failure, doubt)
                case Kind.TAKEN:
                    is_there = self._is_there(act, key, source, doubt)
                    return Move.TAKEN if is_there else Move.GONE
                case Kind.ABSENT:
                    if not self._is_there(act, key, source, doubt):
                        return Move.GONE
                    self._make_parent(act, key, target, doubt)
                case Kind.LOST:
                    doubt = failure
                    if not self._is_there(act, key, source, doubt):
                        return Move.GONE
                    waits = True
                case Kind.UNSENT:
                    waits = True
                case _ as never:
                    assert_never(never)
            if not pauses or calls.waiting.tick() > until:
                raise _given_up(act, key, failure, doubt)
            pause_s = pauses.pop(0)
            if waits:
                calls.waiting.sleep(pause_s)

    def _is_there(self, act: str, key: str, source: str, doubt: Failure | None) -> bool:
        try:
            return self._files.status(act, key, source) is not None
        except StoreUnavailable as error:
            if doubt is None:
                raise
            raise OutcomeUnknown(act, key, doubt.why) from error

    def _make_parent(self, act: str, key: str, target: str, doubt: Failure | None) -> None:
        try:
            self._files.make_directory(act, key, target.rpartition("/")[0] or "/")
        except StoreUnavailable as error:
            if doubt is None:
                raise
            raise OutcomeUnknown(act, key, doubt.why) from error


def _given_up(
    act: str, key: str, failure: Failure, doubt: Failure | None
) -> StoreUnavailable | OutcomeUnknown:
    if doubt is not None:
        return OutcomeUnknown(act, key, doubt.why)
    return StoreUnavailable(act, key, failure.why)
