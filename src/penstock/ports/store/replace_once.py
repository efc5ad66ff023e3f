"""Replacing an object when the reply may get lost: look, recognise our own, never guess."""

from penstock.api.store import ReplacesConditionally
from penstock.errors import OutcomeUnknown


def replace_once(
    store: ReplacesConditionally, key: str, data: bytes, tag: str | None
) -> str | None:
    """Replace `key` if it still has this tag, and find out what happened.

    The tag of our object: it was put there by this try, or by one whose reply was lost. None:
    another's object is there, and ours never will be. `data` must not have been written before: a
    nonce inside makes that certain. Raises `OutcomeUnknown` when the request may land yet, and
    `StoreUnavailable` when nobody answers what lies there.
    """
    doubt: OutcomeUnknown | None = None
    try:
        put = store.replace_tagged(key, data, tag)
        if put is not None:
            return put
    except OutcomeUnknown as error:
        doubt = error
    found = store.read_tagged(key)
    if found is not None and found.data == data:
        return found.tag
    if doubt is not None and (None if found is None else found.tag) == tag:
        raise doubt
    return None
