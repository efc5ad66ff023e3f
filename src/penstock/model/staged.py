"""Staged files: the handle that travels from a task through the journal to the publisher."""

from penstock.model.value import Value


class StagingSpot(Value, frozen=True):
    """Where an attempt may write: a staging prefix, the window it belongs to, a unique attempt."""

    prefix: str
    window: str
    attempt: str


class StagedHandle(Value, frozen=True):
    """All that is needed to publish one staged file or to recognise it once published.

    Small, and plain JSON, because it goes through a task's result row and into the journal.
    `proof` holds what only the store understands: an upload id and part tags, a generation.
    """

    store: str
    staged: str
    final: str
    size_bytes: int
    checksum: str
    proof: dict[str, str] = {}


class StagedRef(Value, frozen=True):
    """A staged thing found by listing: its place and the window in whose name it was written."""

    place: str
    window: str
