"""The rows of one record that were found in one file."""

from penstock.model.value import Value


class RowFound(Value, frozen=True):
    """A row: its place in the file, the first is 0, and its number in its record.

    The other fields are those of a row of the quarantine.
    """

    row: int
    number: int = 0
    dataset: str = ""
    reason: str = ""
    fingerprint: str = ""


class FileRows(Value, frozen=True):
    """The rows of a record in a file; `problem` says why they are not known.

    `is_changed`: the file is there, with other bytes than those that were recorded. `is_untold`:
    its rows do not say which records they are, so the record may be there.
    """

    rows: tuple[RowFound, ...] = ()
    problem: str = ""
    is_changed: bool = False
    is_untold: bool = False
