"""Long JSON inside plain JSON: packed with zlib above a few kilobytes; envelopes stay plain.

Entries name the same directories and ranges again and again, and become 5 to 40 times smaller.
zlib is part of Python, so commands that read no data load nothing else for it.
"""

import zlib

PACKED_FROM_BYTES = 8_192  # shorter JSON stays readable for people
MOST_UNPACKED_BYTES = (
    1 << 30
)  # no object of a journal comes near; a forged one must not fill memory


def is_worth_packing(plain: bytes) -> bool:
    """True for JSON that is long enough to be packed."""
    return len(plain) > PACKED_FROM_BYTES


def pack(plain: bytes) -> bytes:
    """The bytes in packed form."""
    return zlib.compress(plain)


def unpack(packed: bytes) -> bytes:
    """The bytes that were packed; raises `ValueError` for anything else."""
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(packed, MOST_UNPACKED_BYTES)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if not reader.eof or reader.unused_data:
        raise ValueError("it cannot be unpacked: it is not whole, too long, or something follows")
    return plain
