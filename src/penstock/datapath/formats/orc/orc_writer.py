"""ORC files being written, with more in their footer than Arrow's writer has a way to say.

Points in time are of a type that Spark only takes when told, in an attribute of the column, what it
is to make of it.
"""

import pyarrow as pa
import pyarrow.orc as orc

from penstock.api.file_format import ByteStream, WriteOptions
from penstock.datapath.formats.orc.orc import COMPRESSIONS
from penstock.datapath.formats.orc.orc_footer import LARGEST_CHUNK, LONGEST_TAIL, with_words
from penstock.datapath.formats.orc.orc_structs import with_plain_structs

ROWS_AT_ONCE = 200_000
REPEATING = 0.8  # of distinct texts, up to this share, each is written once and referred to
_FOR_SPARK = {"spark.sql.catalyst.type": "timestamp"}


class OrcWriter:
    """An ORC file being written; how many rows become a stripe is ORC's own decision."""

    def __init__(self, stream: ByteStream, options: WriteOptions) -> None:
        self._stream = stream
        self._buffered = _BufferedStream()
        self._is_chunked = options.compression != "none"
        self._words = dict(options.words)
        self._orc = orc.ORCWriter(
            self._buffered,
            compression=COMPRESSIONS[options.compression],
            compression_block_size=LARGEST_CHUNK,
            dictionary_key_size_threshold=REPEATING,
        )

    def write(self, rows: pa.Table) -> None:
        """Write rows, many at a time."""
        plain = pa.schema([plain_field(each) for each in rows.schema])
        for start in range(0, rows.num_rows, ROWS_AT_ONCE):
            self._orc.write(with_plain_structs(rows.slice(start, ROWS_AT_ONCE).cast(plain)))
            self._stream.write(self._buffered.take(LONGEST_TAIL))

    def finish(self) -> None:
        """Write the footer, and our words behind it."""
        self._orc.close()
        self._stream.write(self._buffered.take(LONGEST_TAIL))
        tail = self._buffered.take(0)
        self._stream.write(with_words(tail, self._words, chunked=self._is_chunked))


def plain_field(field: pa.Field) -> pa.Field:
    """A column as ORC takes it: values that are written once and referred to are its own affair."""
    kind = _plain(field.type)
    is_moment = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.field(field.name, kind, field.nullable, _FOR_SPARK if is_moment else None)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([plain_field(each) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(plain_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(plain_field(kind.key_field), plain_field(kind.item_field))
    return kind


class _BufferedStream:
    """A stream that keeps all bytes until they are asked for.

    Nothing may fail in it: what it raised would come to an end of Arrow's writer that has no way
    to tell, and would end the whole process.
    """

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: pa.Buffer) -> int:
        """Keep some more."""
        self._pieces.append(bytes(data))
        return len(data)

    def take(self, left: int) -> bytes:
        """All but the last so many bytes, which stay."""
        held = b"".join(self._pieces)
        cut = max(len(held) - left, 0)
        self._pieces = [held[cut:]]
        return held[:cut]

    def flush(self) -> None:
        """There is more to come."""

    def close(self) -> None:
        """The maker of the stream closes it."""
