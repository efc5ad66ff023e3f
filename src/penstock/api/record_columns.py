"""The columns of the records that a source hands to tasks; `penstock.api.source` has them, too."""

import pyarrow as pa

# What a task gets of each record. `timestamp` counts milliseconds since 1970. `headers` is null
# without any, and else JSON text: `[{"key": "k", "value": "base64"}, ...]`, without `value` where a
# header has none. `hash` is over offset, key and value: equal for equal records, in every read.
RECORD_COLUMNS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.string()),
        ("hash", pa.int64()),
    ]
)
TOPIC_COLUMN = pa.field("topic", pa.string())  # in front, where a read is of several topics
