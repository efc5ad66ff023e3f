"""Steps: single idempotent acts. Whoever folded the journal may run them, any number of times."""

from typing import Protocol

from penstock.api.store import Store
from penstock.errors import ForeignFile, OutcomeUnknown
from penstock.model.outcome import FinalState
from penstock.model.staged import StagedHandle

TRIES = 3


class Step(Protocol):
    """One act that makes a decided entry visible. Runs on the driver, may be repeated by anyone."""

    def is_done(self) -> bool:
        """By identity: our window, our size, our checksum; never by mere existence."""
        ...

    def execute(self) -> None:
        """Act; raises `OutcomeUnknown` when no answer came."""
        ...


class PublishFile:
    """Make one staged file visible under its final name."""

    def __init__(self, store: Store, handle: StagedHandle) -> None:
        self._store = store
        self._handle = handle

    def is_done(self) -> bool:
        """Ours is there and its staged source is consumed: no sleeping owner can bring it back."""
        seen = self._store.look(self._handle)
        if seen.final is FinalState.FOREIGN:
            raise ForeignFile(self._handle.final, self._handle.checksum, "another content")
        return seen.is_done

    def execute(self) -> None:
        """Publish without overwriting, and consume the source."""
        self._store.publish(self._handle)


class DeleteInput:
    """Remove one file that a compaction, retention or generation has replaced."""

    def __init__(self, store: Store, final: str) -> None:
        self._store = store
        self._final = final

    def is_done(self) -> bool:
        """Final names are never used twice, so absence is proof."""
        return self._store.head(self._final) is None

    def execute(self) -> None:
        """Delete it; nothing happens when somebody else has."""
        self._store.delete(self._final)


def finish_step(step: Step) -> None:
    """Bring one step to its end: look first, act, and look again when no answer came."""
    doubt: OutcomeUnknown | None = None
    for _ in range(TRIES):
        if step.is_done():
            return
        try:
            step.execute()
        except OutcomeUnknown as error:
            doubt = error
            continue
        return
    if doubt is not None and not step.is_done():
        raise doubt
