"""Values as they are: one column of bytes. The key and the headers are columns if asked for.

The column may be null, for records without a value: an empty value is another one.
"""

import numpy as np
import pyarrow as pa

from penstock.api.codec import DecodedBatch, Message, RecordReader
from penstock.datapath.codec.raw.codec import RAW
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import BINARY, Field

_FIELDS = (Field("value", "value", BINARY),)
_SCHEMA = pa.schema([pa.field("value", pa.binary())])


def raw_reader(_schema: RegisteredSchema = RAW, _message: Message = ()) -> RecordReader:
    """There is nothing to decode."""
    return RecordReader("", _FIELDS, _read)


def _read(values: pa.Array, _skipped: int) -> DecodedBatch:
    batch = pa.RecordBatch.from_arrays([values.cast(pa.binary())], schema=_SCHEMA)
    return DecodedBatch(batch, np.arange(len(values)), [])
