"""The types of Penstock's own columns, which lines of JSON do not tell."""

import pyarrow as pa

OWN_TYPES = {
    "_topic": pa.string(),
    "_partition": pa.int32(),
    "_offset": pa.int64(),
    "_timestamp": pa.timestamp("ms", tz="UTC"),
    "_timestamp_type": pa.string(),
    "_row": pa.int32(),
    "_window": pa.string(),
    "_headers": pa.string(),
    "_key": pa.binary(),
    "_rest": pa.string(),
}
