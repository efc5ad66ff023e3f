"""Staged files by the window in whose name they were written."""

from collections.abc import Set

from penstock.api.store import Store


def discard_windows(store: Store, prefix: str, windows: Set[str]) -> None:
    """Destroy whatever these windows have staged; for windows known never to be decided."""
    for ref in store.list_staged(prefix):
        if ref.window in windows:
            store.discard(ref)
