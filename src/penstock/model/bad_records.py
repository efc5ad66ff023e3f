"""What the data path says about single records: which were bad, and why."""

from penstock.model.value import Value


class BadRecord(Value, frozen=True):
    """One record that cannot go on: its place in the batch handed in, a stable code, details.

    `reason` is a code such as NOT_JSON; `detail` names the path and what was found there, and
    never repeats the payload.
    """

    index: int
    reason: str
    detail: str = ""
