"""The partition values that Penstock brings: pieces of the event time, and fields.

Tasks do not ask these for texts: they put all pieces of the time together, and take the values of
fields as they came. What comes out is the same.
"""

from penstock.api.records import Records
from penstock.datapath.shape.route.directories import time_texts
from penstock.datapath.shape.route.value_names import scalar_text


class TimePiece:
    """A piece of the event time, as the clocks of the feed's zone show it."""

    fields: tuple[str, ...] = ()

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def texts(self, records: Records) -> list[str | None]:
        """The day, hour or minute of each record."""
        micros = records.event_times.cast("int64").to_numpy(zero_copy_only=False)
        return [*time_texts(micros, self._kind, records.zone)]


class FieldValue:
    """The value of a field."""

    def __init__(self, path: str) -> None:
        self.fields = (path,)

    def texts(self, records: Records) -> list[str | None]:
        """The value of each record as text; None where there is no usable one."""
        return [scalar_text(value) for value in records.fields[self.fields[0]]]


def day() -> TimePiece:
    """`day=2026-11-15`."""
    return TimePiece("day")


def hour() -> TimePiece:
    """`hour=07`."""
    return TimePiece("hour")


def minute() -> TimePiece:
    """`minute=05`."""
    return TimePiece("minute")
