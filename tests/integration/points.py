"""Where a process of the crash tests dies, stops or fails, by the ids of the fault catalogue.

Letters after a number are variants of one point: `C10` has landed, `C10b` has not.
"""

import signal
from typing import NamedTuple

FAILS = 0  # instead of a signal: the act fails, and the process sees it


class Point(NamedTuple):
    """Before or after the nth call of this kind on a key or path like this."""

    call: str
    key: str = "*"
    nth: int = 1
    after: bool = False
    how: int = signal.SIGKILL


ENTRY, MARKER = "*_penstock/*/journal/*", "*_penstock/*/done/*"
LEASE, CHECKPOINT = "*_penstock/*/lease/*", "*_penstock/*/checkpoints/*"
DATA = "*/events/*.parquet"

NOWHERE = {"none": Point("nothing")}
POINTS = {
    "C1": Point("create", ENTRY, 2),
    "C2": Point("create", ENTRY, 2, after=True),
    "C2b": Point("link", ENTRY, 2),
    "C3": Point("open", after=True),
    "C4": Point("publish"),
    "C4b": Point("publish", after=True),
    "C4c": Point("create", MARKER),
    "C5": Point("plan"),
    "C5b": Point("create", ENTRY, 3),
    "C6": Point("create", ENTRY, 3, after=True),
    "C6b": Point("stage"),
    "C7": Point("staged"),
    "C8": Point("prove"),
    "C9": Point("create", ENTRY, 4),
    "C10": Point("create", ENTRY, 4, after=True),
    "C10b": Point("link", ENTRY, 4),
    "C11": Point("publish"),
    "C12": Point("publish", nth=2),
    "C13": Point("unlink"),
    "C14": Point("create", MARKER),
    "C15": Point("create", MARKER, after=True),
    "C15b": Point("create", LEASE, 2),
    "C16": Point("discard"),
    "C16b": Point("discard", after=True),
    "C17": Point("create", CHECKPOINT),
    "C17b": Point("create", CHECKPOINT, after=True),
    "C17c": Point("delete", "*/_tail/*"),
    "C19": Point("handler"),
    "C19b": Point("close"),
    "C20": Point("task", "*/quarantine/*"),
    "C20b": Point("publish", "*/quarantine/*"),
}
# Of `penstock compact`, in the order in which it comes there.
COMPACTION = {
    "C7-compact": Point("task", "*.parquet"),
    "C9-compact": Point("create", ENTRY),
    "C10-compact": Point("create", ENTRY, after=True),
    "C10b-compact": Point("link", ENTRY),
    "C11-compact": Point("publish"),
    "C13-compact": Point("unlink"),
    "C13b-compact": Point("publish", after=True),
    "C13c-compact": Point("delete", "events/*.parquet"),
    "C13d-compact": Point("delete", "events/*.parquet", after=True),
    "C14-compact": Point("create", MARKER),
    "C15-compact": Point("create", MARKER, after=True),
    "C15b-compact": Point("create", MARKER, 2, after=True),
}
PAUSES = {
    "Z1-compact": Point("create", ENTRY, how=signal.SIGSTOP),
    "Z3-compact": Point("publish", how=signal.SIGSTOP),
    "Z9-compact": Point("link", DATA, how=signal.SIGSTOP),
    "Z1": Point("create", ENTRY, 4, how=signal.SIGSTOP),
    "Z3": Point("publish", nth=2, how=signal.SIGSTOP),
    "Z5": Point("discard", how=signal.SIGSTOP),
    "Z9": Point("link", DATA, how=signal.SIGSTOP),
}
FAILURES = {
    "E3": Point("task exit", nth=2, how=FAILS),
    "S2": Point("sync", how=FAILS),
    "S2b": Point("task sync", nth=2, how=FAILS),
}
ALL = NOWHERE | POINTS | COMPACTION | PAUSES | FAILURES
