"""ORC files with more in their footer than Arrow's writer has a way to say.

An ORC file ends with its footer, the postscript, and one byte with the length of the postscript,
which in turn has the length of the footer. Both are Protobuf, where fields may be added behind
others and the last value of a field counts. So the words become one more chunk of the footer,
behind those that Arrow has written, and the postscript says its length once more. The footer also
says that days are counted by the calendar of today at all times; without that, readers in Java
shift days before October 1582.

Points in time are of a type that Spark only takes when told, in an attribute of the column, what it
is to make of it.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc

from penstock.datapath.formats.orc.orc_structs import with_plain_structs

# What ORC calls the compressions that a feed may ask for.
_COMPRESSIONS = {
    "zstd": "zstd",
    "snappy": "snappy",
    "gzip": "zlib",
    "lz4": "lz4",
    "none": "uncompressed",
}
_MAGIC = b"\x82\xf4\x03\x03ORC"  # field 8000 of the postscript, by which readers know the end
_FOOTER_LENGTH = b"\x08"  # field 1 of the postscript
_WORDS = b"\x2a"  # field 5 of the footer: a name and a value
_CALENDAR = b"\x58\x02"  # field 11 of the footer: proleptic Gregorian
_NAME, _VALUE = b"\x0a", b"\x12"
_LONGEST_TAIL = 256  # a postscript's length has one byte
_LARGEST_CHUNK = 1 << 16  # Arrow's own, and what the postscript tells readers to expect at most
_FOR_SPARK = {"spark.sql.catalyst.type": "timestamp"}
REPEATING = 0.8  # of distinct texts, up to this share, each is written once and referred to


class OrcFile:
    """An ORC file to be, in a stream; the same words as Arrow's writer of Parquet."""

    def __init__(self, stream: Any, compression: str) -> None:
        self._stream = stream
        self._held = _HeldBack()
        self._is_chunked = compression != "none"
        self._words: dict[str, str] = {}
        self._orc = orc.ORCWriter(
            self._held,
            compression=_COMPRESSIONS[compression],
            compression_block_size=_LARGEST_CHUNK,
            dictionary_key_size_threshold=REPEATING,
        )

    def write_table(self, table: Any, row_group_size: int) -> None:
        """Write rows, so many at a time; how many become a stripe is ORC's own affair."""
        plain = pa.schema([plain_field(each) for each in table.schema])
        for start in range(0, table.num_rows, row_group_size):
            self._orc.write(with_plain_structs(table.slice(start, row_group_size).cast(plain)))
            self._stream.write(self._held.take(_LONGEST_TAIL))

    def add_key_value_metadata(self, words: Mapping[str, str]) -> None:
        """What the footer shall say besides."""
        self._words |= words

    def close(self) -> None:
        """Write the footer, and our words behind it."""
        self._orc.close()
        self._stream.write(self._held.take(_LONGEST_TAIL))
        tail = self._held.take(0)
        self._stream.write(with_words(tail, self._words, chunked=self._is_chunked))


def plain_field(field: Any) -> Any:
    """A column as ORC takes it: values that are written once and referred to are its own affair."""
    kind = _plain(field.type)
    is_moment = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.field(field.name, kind, field.nullable, _FOR_SPARK if is_moment else None)


def _plain(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([plain_field(each) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(plain_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(plain_field(kind.key_field), plain_field(kind.item_field))
    return kind


def with_words(tail: bytes, words: Mapping[str, str], *, chunked: bool) -> bytes:
    """The end of an ORC file, from some byte of its footer on, with words added to the footer."""
    length = tail[-1]
    before, postscript = tail[: -length - 1], tail[-length - 1 : -1]
    if not postscript.endswith(_MAGIC):
        raise ValueError("Arrow has written an ORC file that does not end as one")
    more = _CALENDAR + b"".join(_sized(_WORDS, _word(*each)) for each in words.items())
    if chunked:
        more = _chunk(more)
    footer = _first_number(postscript) + len(more)
    said = postscript[: -len(_MAGIC)] + _FOOTER_LENGTH + _number(footer) + _MAGIC
    return before + more + said + bytes([len(said)])


class _HeldBack:
    """A stream that keeps all bytes until they are asked for.

    Nothing may fail in it: what it raised would come to an end of Arrow's writer that has no way
    to tell, and would end the whole process.
    """

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: Any) -> int:
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
        """Whoever made the stream closes it."""


def _word(name: str, value: str) -> bytes:
    return _sized(_NAME, name.encode()) + _sized(_VALUE, value.encode())


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + _number(len(data)) + data


def _chunk(data: bytes) -> bytes:
    """A chunk that is not compressed, as the lowest bit says."""
    if len(data) > _LARGEST_CHUNK:
        raise ValueError(f"{len(data)} bytes are too many words for a footer")
    return (2 * len(data) + 1).to_bytes(3, "little") + data


def _number(value: int) -> bytes:
    """A number as Protobuf writes it: seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _first_number(postscript: bytes) -> int:
    """The length of the footer, with which Arrow begins a postscript."""
    if not postscript.startswith(_FOOTER_LENGTH):
        raise ValueError("Arrow has written a postscript that does not begin with a length")
    value = shift = 0
    for byte in postscript[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value
