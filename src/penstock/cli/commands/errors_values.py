"""How broken records and their groups are printed."""

import base64
from collections.abc import Iterable
from typing import Protocol

from penstock.cli.printable import printable
from penstock.model.record_position import Position

SAMPLE_CHARACTERS = 60


def base64_of(data: bytes | None) -> str | None:
    """Bytes in base64, for JSON."""
    return None if data is None else base64.b64encode(data).decode("ascii")


class RecordGroup(Protocol):
    """Records with one fingerprint, in the quarantine or in a window that was refused."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def datasets(self) -> Iterable[str]: ...
    @property
    def first(self) -> Position: ...
    @property
    def last(self) -> Position: ...


def group_facts(group: RecordGroup) -> dict[str, object]:
    """What is known of every group, as a row of text."""
    return {
        "fingerprint": group.fingerprint,
        "count": group.count,
        "reason": printable(group.reason),
        "dataset": printable(",".join(name or "-" for name in group.datasets)),
        "first": printable(str(group.first)),
        "last": printable(str(group.last)),
    }
