"""The footer of an ORC file, by hand.

Why it exists: Arrow's writer of ORC cannot put words into a footer, nor say by which calendar days
are counted, and its reader does not say how many bytes the values of a column take.

An ORC file ends with its footer, the postscript, and one byte with the length of the postscript,
which in turn has the length of the footer. Both are Protobuf, where fields may be added behind
others and the last value of a field counts. So the words become one more chunk of the footer,
behind those that Arrow has written, and the postscript says its length once more. The footer also
says that days are counted by the calendar of today at all times; without that, readers in Java
shift days before October 1582.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

LONGEST_TAIL = 256  # a postscript's length has one byte
LARGEST_CHUNK = 1 << 16  # Arrow's own, and what the postscript tells readers to expect at most
_MAGIC = b"\x82\xf4\x03\x03ORC"  # field 8000 of the postscript, by which readers know the end
_FOOTER_LENGTH = b"\x08"  # field 1 of the postscript
_WORDS = b"\x2a"  # field 5 of the footer: a name and a value
_CALENDAR = b"\x58\x02"  # field 11 of the footer: proleptic Gregorian
_NAME, _VALUE = b"\x0a", b"\x12"

# Numbers of fields, and of their wire types.
_FOOTER = 2  # of a file's tail
_STATISTICS = 7  # of the footer: one for each column, also inside others, in the order of a walk
_VALUES = 1  # of statistics: how many are not null
_TEXTS, _TEXTS_SUM = 4, 3
_BYTES, _BYTES_SUM = 8, 1
_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5

_OFFSET_BYTES = 4  # of a text, a list or a map in Arrow's memory
_WIDEST_BYTES = 16


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


def column_bytes(tail: bytes, schema: pa.Schema) -> dict[str, int] | None:
    """How many bytes the values of each column take in memory, from the statistics of a file.

    `tail` is what Arrow's reader calls so: the postscript and the footer, unpacked. None for a file
    without statistics of every column.
    """
    (footer,) = [value for field, value in _fields(tail) if field == _FOOTER]
    if not isinstance(footer, bytes):
        return None
    found = [value for field, value in _fields(footer) if field == _STATISTICS]
    widths = [_widths(each.type) for each in schema]
    if len(found) != 1 + sum(map(len, widths)):
        return None
    left = iter(found[1:])  # the first is of whole rows
    return {
        each.name: sum(_bytes_of(next(left), width) for width in mine)
        for each, mine in zip(schema, widths, strict=True)
    }


def _widths(kind: pa.DataType) -> list[int]:
    """The bytes that each value of a type takes apart from texts, also of the types inside."""
    if pa.types.is_struct(kind):
        return [0, *(width for each in kind for width in _widths(each.type))]
    if pa.types.is_map(kind):
        return [_OFFSET_BYTES, *_widths(kind.key_type), *_widths(kind.item_type)]
    if pa.types.is_list(kind):
        return [_OFFSET_BYTES, *_widths(kind.value_type)]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return [_OFFSET_BYTES]
    return [_WIDEST_BYTES if pa.types.is_decimal(kind) else 8]


def _bytes_of(statistics: int | bytes, width: int) -> int:
    """What the values of one column take: so many bytes each, and their texts."""
    count = texts = 0
    for field, value in _fields(statistics if isinstance(statistics, bytes) else b""):
        if field == _VALUES and isinstance(value, int):
            count = value
        elif field in (_TEXTS, _BYTES) and isinstance(value, bytes):
            wanted = _TEXTS_SUM if field == _TEXTS else _BYTES_SUM
            texts += sum(
                each >> 1  # zigzag, and never below zero
                for number, each in _fields(value)
                if number == wanted and isinstance(each, int)
            )
    return count * width + texts


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers and values of a message's fields; those of fixed width are left out."""
    place = 0
    while place < len(message):
        key, place = _read_number(message, place)
        wire = key & 7
        if wire == _VARINT:
            value, place = _read_number(message, place)
            yield key >> 3, value
        elif wire == _SIZED:
            length, place = _read_number(message, place)
            yield key >> 3, message[place : place + length]
            place += length
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            place += 8 if wire == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of wire type {wire} in the footer of an ORC file")


def _read_number(message: bytes, place: int) -> tuple[int, int]:
    """A number as Protobuf writes it, and where it ends."""
    value = shift = 0
    while True:
        if place >= len(message):
            raise ValueError("the footer of an ORC file ends within a number")
        byte = message[place]
        value |= (byte & 0x7F) << shift
        shift += 7
        place += 1
        if byte < 0x80:
            return value, place


def _word(name: str, value: str) -> bytes:
    return _sized(_NAME, name.encode()) + _sized(_VALUE, value.encode())


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + _number(len(data)) + data


def _chunk(data: bytes) -> bytes:
    """A chunk that is not compressed, as the lowest bit says."""
    if len(data) > LARGEST_CHUNK:
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
    return _read_number(postscript, 1)[0]
