"""Values in `_rest` at recorded positions, read from the files of a dataset. Reads only.

Samples come from `_rest` and not from the source, so that what converters drop or hide in rows
cannot be seen here either.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from penstock.api.file_format import FileUnreadable
from penstock.api.store import Store
from penstock.audit.positions import NotOurs, open_rows
from penstock.datapath.formats.arrow_errors import UNREADABLE
from penstock.datapath.formats.formats_by_ending import format_of_file
from penstock.model.event_paths import steps_of
from penstock.model.field_conflicts import FieldConflict
from penstock.model.names import (
    AnyName,
    CompactedName,
    FileName,
    GatheredName,
    encode_component,
    parse_name,
)
from penstock.model.schema import REST

MOST_FILES = 20  # that are opened for one sample
_COLUMNS = ("_topic", "_partition", "_offset", REST)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def sample_of(store: Store, files: list[str], conflict: FieldConflict) -> str | None:
    """The JSON of one value that did not fit, as it was written; None where it is not to be had.

    `files` are live files of the dataset.
    """
    for final in _likely_first(list(_covering(files, conflict)), conflict)[:MOST_FILES]:
        rest = _rest_at(store, final, conflict)
        if rest is not None:
            return _value_at(rest, conflict.path)
    return None


def _covering(files: list[str], conflict: FieldConflict) -> Iterator[str]:
    """The files that may hold the record, by their names; those of other kinds may, too."""
    for final in files:
        name = parse_name(final)
        if name is None or (
            name.topic == encode_component(conflict.topic) and _covers(name, conflict)
        ):
            yield final


def _likely_first(files: list[str], conflict: FieldConflict) -> list[str]:
    """The files, those first in which the record is likely to lie.

    Directories are mostly days and hours, and later offsets have later times: a record in the
    middle of the range lies in the middle of the files, in name order.
    """

    def distance(numbered: tuple[int, str]) -> float:
        place, final = numbered
        name = FileName.parse(final.rpartition("/")[2])
        if name is None:
            return 0.0
        share = (conflict.offset - name.start) / (name.end - name.start)
        return abs((place + 0.5) / len(files) - share)

    return [final for _, final in sorted(enumerate(files), key=distance)]


def _covers(name: AnyName, conflict: FieldConflict) -> bool:
    if isinstance(name, CompactedName):
        return True  # its name tells no ranges
    if isinstance(name, GatheredName):
        return name.first <= conflict.partition <= name.last
    return name.partition == conflict.partition and name.start <= conflict.offset < name.end


def _rest_at(store: Store, final: str, conflict: FieldConflict) -> str | None:
    """`_rest` of the record in a file; None if it is not there, or the file cannot be read."""
    form = format_of_file(final)
    if form is None or not form.traits.survives_damage or not form.traits.has_columns:
        return None
    file = store.open_read(final)
    if file is None:
        return None
    with file:
        try:
            for rows in open_rows(file, form).pieces(_COLUMNS):
                is_here = np.flatnonzero(rows["_offset"].to_numpy() == conflict.offset)
                for row in is_here.tolist():
                    place = (rows["_topic"][row].as_py(), rows["_partition"][row].as_py())
                    rest: str | None = rows[REST][row].as_py()
                    if place == (conflict.topic, conflict.partition) and rest is not None:
                        return rest
        except (NotOurs, FileUnreadable, *UNREADABLE):
            return None  # `penstock audit` tells what is wrong with a file
    return None


def _value_at(rest: str, path: str) -> str | None:
    """The text of a value; of one inside a list that of the whole list, which `_rest` has."""
    text = rest
    for step in steps_of(path):
        if step is None:
            break
        try:
            found = _members(text.encode()).get(step)
        except msgspec.MsgspecError:
            return None  # it does not lie in objects
        if found is None:
            return None
        text = bytes(found).decode()
    return text
