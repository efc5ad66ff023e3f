"""An ORC file in pieces that are bounded by their bytes, whatever the size of its stripes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import BinaryIO

import pyarrow as pa
import pyarrow.orc as orc

from penstock.api.file_format import PIECE_BYTES, PIECE_ROWS, FileUnreadable
from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line
from penstock.datapath.formats.orc.orc_footer import column_bytes
from penstock.errors import StoreUnavailable

_FEW_ROWS = 1_024  # at a time, of a file that does not say how large its values are


class OrcReader:
    """An ORC file with its footer read; rows are read as they are asked for.

    It must be one of ours, byte by byte: Arrow's reader does not survive all others.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._source = _Remembering(file)
        with self._source.passing_store_errors():
            opened = orc.ORCFile(self._source)
            self.schema: pa.Schema = opened.schema
            self._rows = int(opened.nrows)
            self._sizes = column_bytes(opened.reader.serialized_file_tail(), opened.schema)
        words = opened.schema.metadata or {}
        self.words: Mapping[str, str] = {
            name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for name, value in words.items()
        }

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The rows in their order; as many at a time as take `most_bytes` by the mean of all."""
        dataset = import_module("pyarrow.dataset")  # not for every command: it takes pandas along
        found = dataset.OrcFileFormat().make_fragment(self._source)
        with self._source.passing_store_errors():
            yield from found.to_batches(
                columns=list(columns),
                batch_size=min(most_rows, self._rows_within(columns, most_bytes)),
                batch_readahead=1,
                use_threads=False,
            )

    def _rows_within(self, columns: Sequence[str], most_bytes: int) -> int:
        """How many rows take at most so many bytes, if all are alike; at least one."""
        if self._sizes is None:
            return _FEW_ROWS
        size = sum(self._sizes.get(name, 0) for name in columns)
        return max(1, most_bytes * self._rows // max(1, size))


class _Remembering:
    """A file that keeps why the store did not read it: Arrow's reader of ORC only hands on words.

    Without, a store that does not answer would be told as a damaged file.
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._trouble: StoreUnavailable | None = None
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        try:
            return self._file.read(size)
        except StoreUnavailable as error:
            self._trouble = error
            raise

    @contextmanager
    def passing_store_errors(self) -> Iterator[None]:
        """Around reads by Arrow: an error of the store is raised as it was, not as one of Arrow."""
        try:
            yield
        except UNREADABLE as error:
            if self._trouble is not None:
                raise self._trouble from None
            raise FileUnreadable(first_line(error)) from error
