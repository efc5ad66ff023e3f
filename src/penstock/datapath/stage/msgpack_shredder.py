"""The shredder for formats that say the same as JSON, in other bytes: MessagePack."""

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.msgpack.codec import TEXT_LIMITS, as_json
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.stage.shredder import RangeShredder, take

TEXT = "text"  # a column beside those of the reader: the value as JSON


class PackedShredder(RangeShredder):
    """Reads values as JSON, and lays the raw bytes of those that are bad into the quarantine."""

    limits = TEXT_LIMITS

    def _shred_values(self, batch: Any, rows: Any) -> None:
        converted = as_json(take(batch["value"], rows), Limits())
        good = self._refuse(batch, rows, converted.bad, "")
        places = np.full(batch.num_rows, -1, np.int64)
        places[rows] = np.arange(len(rows))
        texts = converted.texts.take(pa.array(places, mask=places < 0))
        super()._shred_values(batch.append_column(TEXT, texts), rows[good])

    def _texts(self, batch: Any, rows: Any) -> Any:
        return take(batch[TEXT], rows)
