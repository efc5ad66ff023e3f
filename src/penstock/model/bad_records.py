"""Records that cannot be delivered, and why."""

from penstock.model.value import Value


class BadRecord(Value, frozen=True):
    """One broken record: its index in the batch, a stable code, details.

    `reason` is a code such as NOT_JSON; `detail` names the path and what was found there, without
    repeating the payload.
    """

    index: int
    reason: str
    detail: str = ""
