"""Decoding records of formats that say the same as JSON in other bytes, such as MessagePack.

Values are converted to JSON first. The quarantine gets the raw bytes of a record that is bad.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.api.codec import JsonDocuments
from penstock.datapath.stage.batch_decoder import GroupReceiver
from penstock.datapath.stage.decode_json import JsonBatchDecoder
from penstock.datapath.stage.row_arrays import BatchRows, take


class ConvertedBatchDecoder:
    """Converts values to JSON, in front of a decoder that reads that."""

    def __init__(
        self, convert: Callable[[pa.Array], JsonDocuments], decoder: JsonBatchDecoder
    ) -> None:
        self._convert = convert
        self._decoder = decoder

    def decode(self, some: BatchRows, dataset: str | None, receiver: GroupReceiver) -> None:
        """Convert the values of some rows, and read what they became."""
        converted = self._convert(some.column("value"))
        good = np.flatnonzero(receiver.refuse(some, converted.bad))
        texts = take(converted.texts, good)
        self._decoder.decode_texts(some.take(good), texts, dataset, receiver)
