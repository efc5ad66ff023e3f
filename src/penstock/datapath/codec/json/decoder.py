"""JSON records to Arrow columns, and to schemas: the door to this room.

There is a fast way and a reference. The fast way is the scanner (`scan_kernel`): one pass over the
bytes of each record, compiled once for all schemas, and driven by tables that are made of a schema.
It accepts a record only if every byte of it is proven, so whatever it accepts is exactly what the
reference would give. Whatever it refuses goes to the reference, which takes that one record apart
value by value and decides its fate.

    what a payload holds                          its fate
    ------------------------------------------    ------------------------------------------------
    nothing, or only white space                  bad: EMPTY, NOT_JSON
    bytes that are not UTF-8, anywhere            bad: NOT_UTF8
    truncated, trailing bytes, two documents,     bad: NOT_JSON
      a byte-order mark, NaN, Infinity, 01, +1
    an array or a scalar at the top level         bad: NOT_OBJECT
    more than 64 levels, more than 16 MiB         bad: TOO_DEEP, TOO_LONG
    lists of objects that become over 4 Mi        bad: TOO_MANY; an object or null in such a list
      values                                        counts as many as its struct has columns
    half of a surrogate pair as an escape         bad: NOT_JSON, since it is not text
    NUL as an escape                              kept; a raw NUL is NOT_JSON
    one key twice in an object                    the last one wins, as in other JSON readers
    key written with escapes                      the same key as without them
    null, or no such field                        null; bad if declared as required: MISSING_FIELD
    -0 for int64 or double                        0; only -0.0 is a negative zero
    1.0 or 1e2 for int64                          does not fit: WRONG_TYPE
    an integer beyond 64 bits for int64           does not fit: OUT_OF_RANGE
    an integer for double                         kept if a double equals it, else OUT_OF_RANGE
    a fraction for double                         the nearest double; 1e-400 is 0.0
    1e400 for double                              does not fit: OUT_OF_RANGE
    a date or time outside the years 1 to 9999    does not fit: OUT_OF_RANGE
    any other kind than the column's              does not fit: WRONG_TYPE
    a field without a column                      its text goes to `_rest`, unless it says nothing:
                                                    null, [], {}, or arrays and objects of
                                                    nothing else
    a number, true or false for a text that       the text as it is written: 17, 1.50, 1e3; an
      accepts scalars                               object or an array does not fit
    anything but null for a text that accepts     its text as it is written, of a string with
      JSON                                          its quotes

What does not fit makes the record bad if the schema is declared. If it was inferred, the column
is null and the text of the value goes to `_rest`, digit for digit. `_rest` is an object with the
shape of the event: `{"user":{"new":1}}`. Items of a list or a map fit all or not at all; where
only fields inside its objects do not, the column is filled and `_rest` holds its whole text too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.api.codec import JsonRecords, RowRange
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.json import schema_growth
from penstock.datapath.codec.json.batch_decode import Decoded, decode
from penstock.datapath.codec.json.decode_plan import plan_of
from penstock.datapath.codec.json.one_pass import DatasetRecords, OnePass
from penstock.datapath.codec.json.partial_decode import NOT_SCALAR, PartialFields, partial_decode
from penstock.datapath.codec.shared.buffers import as_payloads
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.codec.shared.value_count import MOST_AT_ONCE
from penstock.model.pinned_types import FeedTypes
from penstock.model.schema import DatasetSchema

__all__ = [
    "NOT_SCALAR",
    "DatasetRecords",
    "Decoded",
    "JsonDecoder",
    "Limits",
    "OnePass",
    "PartialFields",
    "SchemaUnsupported",
    "arrow_schema",
]


@dataclass(frozen=True, slots=True)
class JsonDecoder:
    """Stateless, so it may be shared, pickled and called again.

    `exact_only` skips the fast way. `types` are settled by the configuration, for what is learned.
    """

    limits: Limits = field(default_factory=Limits)
    exact_only: bool = False
    types: FeedTypes = field(default_factory=FeedTypes)

    def partial_decode(self, values: pa.Array, paths: tuple[str, ...]) -> PartialFields:
        """Look at a few fields, by dotted path, of every record. Executor, once per batch."""
        return partial_decode(as_payloads(values), paths, self.limits)

    def decode(self, values: pa.Array, schema: DatasetSchema) -> Decoded:
        """Decode records of one dataset. Executor, once per batch and dataset.

        `values` holds bytes and no nulls, less than 2 GiB in all.
        """
        types = self.types.of(schema.dataset)
        return decode(as_payloads(values), plan_of(schema), self.limits, self.exact_only, types)

    def row_ranges(self, values: pa.Array, schema: DatasetSchema) -> Iterator[RowRange]:
        """How to cut records before they are decoded, so that what they become is bounded."""
        return plan_of(schema).counter.row_ranges(as_payloads(values), MOST_AT_ONCE)

    def one_pass(
        self, schemas: Mapping[str, DatasetSchema], tag: str, paths: tuple[str, ...]
    ) -> OnePass:
        """A reader for records of many datasets at once, by the text of the field `tag`."""
        return OnePass({} if self.exact_only else schemas, tag, paths, self.limits, self.types)

    def infer(self, samples: Sequence[bytes], dataset: str, version: int = 1) -> DatasetSchema:
        """The schema that samples of a dataset suggest. Driver, once per new dataset."""
        return schema_growth.infer(samples, dataset, version, self.limits, self.types.of(dataset))

    def promote(self, schema: DatasetSchema, samples: Sequence[bytes]) -> DatasetSchema:
        """The next version of an inferred schema, or the same one if the samples add nothing."""
        return schema_growth.promote(schema, samples, self.limits, self.types.of(schema.dataset))


def json_decoder(records: JsonRecords, types: FeedTypes | None = None) -> JsonDecoder:
    """The decoder for the JSON of a codec's records, which may be longer than its payloads."""
    limits = Limits(max_bytes=records.growth * Limits().max_bytes)
    return JsonDecoder(limits, types=types or FeedTypes())
