"""Which records of a dataset are written alike: templates, found while reading.

A handful of templates is enough for a program that leaves out what is null. For records that are
all written differently no template helps; after a few tries nobody looks for one again.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.codec.json.decode_plan import JsonObject
from penstock.datapath.codec.json.payload import PARSER_ERRORS
from penstock.datapath.codec.json.template import Template, template_of
from penstock.datapath.codec.json.template_columns import read_by_template, screened
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.value_types import ColumnValue, ParsedRecord
from penstock.model.schema import FieldType

Columns = list[pa.Array]

# Below this many records the parser is as quick.
FEWEST_RECORDS = 1_000
_MOST_TEMPLATES = 4
_MOST_TRIES = 8
_USEFUL = 1 / 16  # of the records that are left, a template should read this share at least
_STRIDE = 7_919  # so that tries look at records far from each other


class TemplateSearch:
    """The templates of one dataset. One per task, since it remembers what was of use."""

    def __init__(self, record: JsonObject, tag: str, text: str) -> None:
        self._record = record
        self._tag = tag
        self._text = text
        self._templates: list[Template] = []
        self._tries = 0

    def search(
        self, rows: Numbers, payloads: pa.Array, parse: Callable[[bytes], ParsedRecord]
    ) -> "TemplateRead":
        """Read all records that are like a template, known or new.

        `parse` tells whether a record may serve as a template: it must be one of this dataset.
        """
        result = TemplateRead(rows, payloads)
        for template in self._templates:
            result.take(template, self._record)
        while len(result.rows) >= FEWEST_RECORDS and self._may_try:
            self._tries += 1
            place = self._tries * _STRIDE % len(result.rows)
            found = self._template(result.payloads[place].as_py(), parse)
            if found is not None:
                wanted = _USEFUL * len(result.rows)
                if result.take(found, self._record) >= wanted:
                    self._templates.append(found)
        return result

    @property
    def _may_try(self) -> bool:
        return self._tries < _MOST_TRIES and len(self._templates) < _MOST_TEMPLATES

    def _template(self, payload: bytes, parse: Callable[[bytes], ParsedRecord]) -> Template | None:
        try:
            if type(parse(payload)) is not self._record.make:
                return None
        except PARSER_ERRORS:
            return None
        return template_of(payload, self._record, self._tag, self._text)


class TemplateRead:
    """Records on their way: `read` holds those with columns, `rows` and `payloads` the others."""

    def __init__(self, rows: Numbers, payloads: pa.Array) -> None:
        self.rows = rows
        self.payloads = payloads
        self.read: list[tuple[Numbers, Columns]] = []

    def take(self, template: Template, record: JsonObject) -> int:
        """Read the records that are like a template; how many they were."""
        if len(self.rows) < FEWEST_RECORDS:
            return 0
        columns, good = read_by_template(screened(self.payloads), template, record)
        count = int(good.sum())
        if count:
            self.read.append((self.rows[good], columns))
            self.payloads = self.payloads.filter(pa.array(~good))
            self.rows = self.rows[~good]
        return count


def values_at(record: JsonObject, columns: Columns, path: str, count: int) -> list[ColumnValue]:
    """What a look at a path gives in records whose columns are known."""
    name, _, below = path.partition(".")
    for member, column in zip(record.members, columns, strict=True):
        if member.name != name:
            continue
        if not below:
            found: list[ColumnValue] = _as_parsed(column, member.shape.type).to_pylist()
            return found
        if member.shape.record is None:
            break
        return values_at(member.shape.record, column.flatten(), below, count)
    return [None] * count


def _as_parsed(column: pa.Array, kind: FieldType) -> pa.Array:
    """Values as they are written in events: days and times are counts there."""
    if kind.kind == "date":
        return column.view(pa.int32())
    if kind.kind in {"timestamp_us", "local_us"}:
        return pc.divide(column.view(pa.int64()), kind.unit_us)
    return column
