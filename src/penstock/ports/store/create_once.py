"""Creating an object when the reply may get lost: look, recognise our own, never guess."""

from collections.abc import Callable

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, PenstockError, StoreUnavailable

# Between two tries: a store that is overloaded for a moment answers the next one.
PAUSES_S = (0.5, 2.0)

Sleep = Callable[[float], None]


def without_waiting(_seconds: float) -> None:
    """Try again at once: for callers that have no clock."""


def is_mine(found: bytes, mine: bytes) -> bool:
    """True when the object found is the one we asked for; a nonce inside makes that certain."""
    return found == mine


def create_once(
    store: Store, key: str, data: bytes, sleep: Sleep = without_waiting
) -> bytes | None:
    """Create `key` if absent and find out what happened; waits between its tries with `sleep`.

    None: our object is there, made by this try or by one whose reply was lost. Bytes: another's
    object is there, and ours never will be. Raises `OutcomeUnknown` when it is still not known
    after a few looks (a request of ours may land yet, so nothing may be cleaned up), and
    `StoreUnavailable` when the store refused before anything was asked of it.
    """
    doubt: PenstockError | None = None
    for pause_s in (0.0, *PAUSES_S):
        if pause_s:
            sleep(pause_s)
        answered = False
        try:
            if store.create(key, data):
                return None
            answered = True
        except OutcomeUnknown as error:
            doubt = error
        except StoreUnavailable:
            if doubt is None:
                raise
        try:
            found = store.read(key)
        except StoreUnavailable as error:
            doubt = doubt or error
            continue
        if found is not None and not is_mine(found, data):
            return found
        if found is not None and answered:
            return None  # only an answered create says that what we see is durable as well
    raise OutcomeUnknown("create", key, str(doubt or "it is neither free nor readable"))
