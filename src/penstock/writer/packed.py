"""The shredder for formats that say the same as JSON, in other bytes: MessagePack."""

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codec.msgpack_codec import as_json
from penstock.codec.payload import Limits
from penstock.writer.shred import RangeShredder, take


class PackedShredder(RangeShredder):
    """Reads values as JSON, and lays the raw bytes of those that are bad into the quarantine."""

    def _shred_values(self, batch: Any, rows: Any) -> None:
        said = as_json(take(batch["value"], rows), Limits())
        good = self._refuse(batch, rows, said.bad, "")
        self._places = np.full(batch.num_rows, -1, np.int64)
        self._places[rows] = np.arange(len(rows))
        self._said = said.texts
        super()._shred_values(batch, rows[good])

    def _texts(self, _batch: Any, rows: Any) -> Any:
        return self._said.take(pa.array(self._places[rows]))
