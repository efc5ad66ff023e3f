"""The identity of a process."""

from penstock.model.value import Value


class Process(Value, frozen=True):
    """A process by host, id and start time; ids are reused, so the start time is part of it."""

    host: str
    pid: int
    started: str = ""
