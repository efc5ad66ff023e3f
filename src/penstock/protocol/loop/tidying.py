"""Tidying: what an owner wants done beside its loop, as values that any thread can act on.

Nothing of it is needed for a window to be delivered, so nothing of it happens inside one. All of
it may be repeated, and may come late, also after the owner was fenced: windows that are settled
stay so, a checkpoint is true forever, and only marks with newer ones beside them are removed.
"""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.layout import Layout
from penstock.model.names import window_id
from penstock.ports.store.create_once import Sleep
from penstock.ports.store.discard_windows import discard_each, staged_of
from penstock.protocol.journal.checkpoints import (
    SealedCheckpoint,
    leave_checkpoint,
    prune_marks,
)


@dataclass(frozen=True, slots=True)
class OwnWindows:
    """The windows that an owner has planned up to a moment at which it is busy with none.

    `kept` are those that still need what they have staged: their entry is not done, or it is not
    known whether they have one.
    """

    epoch: int = 0
    planned: int = 0
    kept: frozenset[str] = frozenset()

    def is_garbage(self, window: str) -> bool:
        """True when whatever lies staged for a window is not needed, and never will be.

        Windows of commands have the same epoch and other ids; they are not this owner's.
        """
        if window in self.kept:
            return False
        epoch, _, sequence = window.partition("-")
        if not (epoch.isascii() and epoch.isdigit() and sequence.isascii() and sequence.isdigit()):
            return False
        is_own = window == window_id(self.epoch, int(sequence))
        return is_own and 0 < int(sequence) <= self.planned


@dataclass(frozen=True, slots=True)
class TidyOrder:
    """What has to be tidied: a later order of the same owner covers all of an earlier one."""

    own: OwnWindows
    checkpoint: SealedCheckpoint


def tidy(store: Store, layout: Layout, order: TidyOrder, sleep: Sleep) -> None:
    """Discard what settled windows have left, leave the checkpoint, prune. Needs the store only.

    Each is tried whatever becomes of the others; then the first error is raised. The caller reports
    it and tries again.
    """

    def discard() -> None:
        is_garbage = order.own.is_garbage
        discard_each(store, staged_of(store, layout.staging, layout.data_prefixes, is_garbage))

    acts: tuple[Callable[[], None], ...] = (
        discard,
        lambda: leave_checkpoint(store, layout, order.checkpoint, sleep),
        lambda: prune_marks(store, layout),
    )
    first: StoreUnavailable | OutcomeUnknown | None = None
    for act in acts:
        try:
            act()
        except (StoreUnavailable, OutcomeUnknown) as error:
            first = first or error
    if first is not None:
        raise first
