"""The shredder for formats that say the same as JSON, in other bytes: MessagePack."""

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.codecs import codec_of
from penstock.datapath.stage.shredder import RangeShredder, take

TEXT = "text"  # a column beside those of the reader: the value as JSON


class PackedShredder(RangeShredder):
    """Reads values as JSON, and lays the raw bytes of those that are bad into the quarantine."""

    def _shred_values(self, batch: Any, rows: Any) -> None:
        records = codec_of(self._feed.decode).json
        if records is None or records.convert is None:
            raise ValueError("records of this feed are JSON already")
        converted = records.convert(take(batch["value"], rows))
        good = self._refuse(batch, rows, converted.bad, "")
        places = np.full(batch.num_rows, -1, np.int64)
        places[rows] = np.arange(len(rows))
        texts = converted.texts.take(pa.array(places, mask=places < 0))
        super()._shred_values(batch.append_column(TEXT, texts), rows[good])

    def _texts(self, batch: Any, rows: Any) -> Any:
        return take(batch[TEXT], rows)
