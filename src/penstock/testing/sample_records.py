"""Records in memory, as routes, partition values and forks are given them."""

import base64
import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.api.records import NO_FIELDS, RecordContext, Records, Scalar
from penstock.api.source import RECORD_COLUMNS

Headers = Sequence[tuple[str, bytes | None]]
BEGAN_MS = 1_800_000_000_000
_TOPIC = "events"


def sample_records(
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] = (),
    headers: Sequence[Headers] = (),
    fields: Mapping[str, Sequence[Scalar]] = NO_FIELDS,
    context: RecordContext | None = None,
) -> Records:
    """Records of the partition 0 of the topic `events`, a second apart, from offset 100 on."""
    count = len(values)
    times = [BEGAN_MS + 1000 * row for row in range(count)]
    columns = {
        "partition": [0] * count,
        "offset": [100 + row for row in range(count)],
        "timestamp": times,
        "key": list(keys) or [None] * count,
        "value": list(values),
        "headers": [_json(each) for each in headers] or [None] * count,
        "hash": [0] * count,
    }
    known = context or RecordContext(event_times=np.array(times, np.int64) * 1000)
    batch = pa.RecordBatch.from_pydict(columns, schema=RECORD_COLUMNS)
    plain = {path: tuple(column) for path, column in fields.items()}
    return Records(_TOPIC, 0, batch, np.arange(count), plain, known)


def _json(headers: Headers) -> str | None:
    """Headers as sources give them."""
    found = [
        {"key": key} if value is None else {"key": key, "value": base64.b64encode(value).decode()}
        for key, value in headers
    ]
    return json.dumps(found) if found else None
