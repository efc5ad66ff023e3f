"""A local store that cannot publish some of its files for a while."""

from collections.abc import Sequence
from pathlib import Path

from penstock.errors import StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.ports.store.local.local_store import LocalStore
from penstock.ports.store.publish_each import those_that_fail

FOR_GOOD = 10**9


class FlakyStore(LocalStore):
    """Refuses to publish below directories named in `broken`, as often as it says there.

    Tasks get a plain local store: it pickles as such.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.broken: dict[str, int] = {}
        self.refusals = 0

    def publish(self, handle: StagedHandle) -> None:
        """As a local store does, unless it is broken there."""
        for part in handle.final.split("/"):
            if self.broken.get(part, 0) > 0:
                self.broken[part] -= 1
                self.refusals += 1
                raise StoreUnavailable("publish", handle.final, "it is broken on purpose")
        super().publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """One by one, as far as they are not broken."""
        return those_that_fail(self.publish, handles)
