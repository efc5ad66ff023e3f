"""Staged files: the handle that a task returns and the journal records."""

from penstock.model.value import Value


class StagingSpot(Value, frozen=True):
    """Where an attempt may write: a staging prefix, its window, a unique attempt."""

    prefix: str
    window: str
    attempt: str


class StagedHandle(Value, frozen=True):
    """All that is needed to publish one staged file, or to recognise it once published.

    Small and plain JSON, because it is part of a task's result and of the journal. `proof` has what
    only the store understands: an upload id and part tags, a generation.
    """

    store: str
    staged: str
    final: str
    size_bytes: int
    checksum: str
    proof: dict[str, str] = {}


class StagedRef(Value, frozen=True):
    """A staged file found by listing: its name, and the window it was written for.

    `proof` has what only the store understands, as in a handle. A store that stages at the final
    name has several of them with one place.
    """

    place: str
    window: str
    proof: dict[str, str] = {}
