"""Whether an entry that was just created counts: not if its number was sealed before."""

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.layout import Layout
from penstock.ports.store.create_once import PAUSES_S, Sleep
from penstock.protocol.journal.segments import Segments


def counts(
    store: Store, layout: Layout, segments: Segments, number: int, data: bytes, sleep: Sleep
) -> tuple[bool, str]:
    """Whether what was just created under a number is the journal's own; and what to tell.

    It is not if the number was sealed before: the original had been deleted, and only so could the
    create succeed. Whoever slept for so long learns it here, and folds what it missed. Raises
    `OutcomeUnknown`.
    """
    key = layout.entry(number)
    look_at_seals(segments, key, sleep)
    if not segments.covers(number):
        return True, ""
    if segments.covering(number).entry(number) == data:
        return True, ""  # it was decided, and sealed before we could look
    try:
        store.delete(key)  # under a sealed number it is nobody's
    except (StoreUnavailable, OutcomeUnknown) as error:
        return False, f"the entry {key!r}, which counts for nothing, stays: {error}"
    return False, ""


def look_at_seals(segments: Segments, key: str, sleep: Sleep) -> None:
    """Look, a few times if need be; without an answer it is not known what was created."""
    doubt: StoreUnavailable | None = None
    for pause_s in (0.0, *PAUSES_S):
        if pause_s:
            sleep(pause_s)
        try:
            segments.look()
        except StoreUnavailable as error:
            doubt = error
        else:
            return
    why = f"whether its number was sealed before cannot be told: {doubt}"
    raise OutcomeUnknown("create", key, why)
