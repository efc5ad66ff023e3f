"""A process as others may recognise it."""

from penstock.model.value import Value


class Process(Value, frozen=True):
    """A process by host, number and start; numbers are used again, so the start is part of it."""

    host: str
    pid: int
    started: str = ""
