"""The files with the bytes of corrected records: they must be as the entries name them.

Rows of corrected records are checked like all others: evidence is over positions, and the
comparison with the source is over what was read, which a correction does not change.
"""

import hashlib
import io
from collections.abc import Iterator

from penstock.api.file_format import FileUnreadable
from penstock.api.store import Store
from penstock.audit.ledger import CorrectedRecords, Ledger
from penstock.audit.receipt import Difference
from penstock.datapath.formats.arrow_errors import first_line
from penstock.datapath.formats.quarantine_format import QUARANTINE_FORMAT
from penstock.model.entries import CorrectedFile
from penstock.model.fork import ROW_COLUMN
from penstock.model.ranges import OffsetSet

_COLUMNS = ("_topic", "_partition", "dataset", ROW_COLUMN, "_offset")
_Place = tuple[str, int, str, int]  # topic, partition, dataset, number of the row


def correction_differences(store: Store, ledger: Ledger, *, deep: bool) -> Iterator[Difference]:
    """Files that are gone or altered; a deep audit reads them, and looks for every record."""
    for entry in ledger.corrections:
        found: dict[_Place, list[int]] = {}
        wrong = [
            difference
            for file in entry.files
            for difference in _file_differences(store, entry.number, file, found, deep=deep)
        ]
        yield from wrong
        if deep and not wrong:
            yield from _absent(entry, found)


def _file_differences(
    store: Store, number: int, file: CorrectedFile, found: dict[_Place, list[int]], *, deep: bool
) -> Iterator[Difference]:
    """What is wrong with a file; its records are put into what was found."""
    size = store.head(file.key)
    if size is None:
        words = f"it is gone, with {file.records} corrected records"
        yield Difference("file_missing", words, file.key, entry=number)
    elif size != file.size_bytes:
        words = f"it has {size} bytes, and the journal says {file.size_bytes}"
        yield Difference("file_size", words, file.key, entry=number)
    elif deep:
        why = _contents(store.read(file.key) or b"", file, found)
        if why:
            yield Difference("file_contents", why, file.key, entry=number)


def _contents(raw: bytes, file: CorrectedFile, found: dict[_Place, list[int]]) -> str:
    """Why a file does not hold the corrected records that the journal names; empty: it does."""
    if hashlib.sha256(raw).hexdigest() != file.sha256:
        return "its contents are not the corrected records that the journal names"
    try:
        for batch in QUARANTINE_FORMAT.open(io.BytesIO(raw)).pieces(_COLUMNS):
            columns = [batch[name].to_pylist() for name in _COLUMNS]
            for topic, partition, dataset, row, offset in zip(*columns, strict=True):
                found.setdefault((topic, partition, dataset or "", row), []).append(offset)
    except FileUnreadable as error:
        return first_line(error)
    return ""


def _absent(entry: CorrectedRecords, found: dict[_Place, list[int]]) -> Iterator[Difference]:
    """Records that the entry delivered as corrected, and whose bytes are in none of its files."""
    for part in entry.records:
        place = (part.topic, part.partition, part.dataset, part.row)
        absent = part.offsets - OffsetSet.of(found.get(place, []))
        if absent.runs:
            words = (
                f"it delivers {len(absent)} corrected records of {part.topic}/{part.partition} "
                "whose bytes are in none of its files"
            )
            yield Difference("counts", words, entry=entry.number)
