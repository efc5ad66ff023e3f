"""Blocks of Avro files: how they are packed, and unpacked within bounds whatever the bytes are."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line

SYNC_BYTES = 16
# No block of ours comes near; a few bytes can be made to unpack to any size.
MOST_BLOCK_BYTES = 1 << 30
_CHECKSUM_BYTES = 4
_RAW_DEFLATE = -zlib.MAX_WBITS
_MOST_OF_SNAPPY = 32  # times its packed size: more than the format can reach


class BlockBroken(ValueError):
    """A block that cannot be unpacked."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A compression: Avro's word for it, and both ways."""

    word: str
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


def _deflated(raw: bytes) -> bytes:
    packer = zlib.compressobj(wbits=_RAW_DEFLATE)
    return packer.compress(raw) + packer.flush()


def _inflated(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=_RAW_DEFLATE)
    try:
        raw = unpacker.decompress(packed, MOST_BLOCK_BYTES)
    except zlib.error as error:
        raise BlockBroken(f"a block that is not deflate: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise BlockBroken("a block that deflate does not end in")
    return raw


def _snapped(raw: bytes) -> bytes:
    packed: bytes = pa.Codec("snappy").compress(raw, asbytes=True)
    return packed + zlib.crc32(raw).to_bytes(_CHECKSUM_BYTES, "big")


def _unsnapped(packed: bytes) -> bytes:
    body, checksum = packed[:-_CHECKSUM_BYTES], packed[-_CHECKSUM_BYTES:]
    size = _size_of_snappy(body)
    if size > min(MOST_BLOCK_BYTES, _MOST_OF_SNAPPY * len(packed)):
        raise BlockBroken("a block of an impossible size")
    try:
        raw: bytes = pa.Codec("snappy").decompress(body, decompressed_size=size, asbytes=True)
    except UNREADABLE as error:
        raise BlockBroken(f"a block that is not snappy: {first_line(error)}") from error
    if zlib.crc32(raw).to_bytes(_CHECKSUM_BYTES, "big") != checksum:
        raise BlockBroken("a block with another checksum")
    return raw


def _size_of_snappy(body: bytes) -> int:
    """The size that is said at its beginning, seven bits per byte, lowest first."""
    size = 0
    for place, byte in enumerate(body[:5]):
        size |= (byte & 127) << (7 * place)
        if byte < 128:
            return size
    raise BlockBroken("a block without a size")


def _zstd(raw: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(raw, asbytes=True)
    return packed


def _unzstd(packed: bytes) -> bytes:
    try:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            raw: bytes = stream.read(MOST_BLOCK_BYTES + 1)
    except UNREADABLE as error:
        raise BlockBroken(f"a block that is not zstd: {first_line(error)}") from error
    if len(raw) > MOST_BLOCK_BYTES:
        raise BlockBroken("a block of an impossible size")
    return raw


def _as_it_is(raw: bytes) -> bytes:
    return raw


# By the word that a feed asks for a compression with.
PACKINGS = {
    "zstd": Packing("zstandard", _zstd, _unzstd),
    "snappy": Packing("snappy", _snapped, _unsnapped),
    "deflate": Packing("deflate", _deflated, _inflated),
    "none": Packing("null", _as_it_is, _as_it_is),
}
UNPACK = {each.word: each.unpack for each in PACKINGS.values()}


def long_of(value: int) -> bytes:
    """A number as Avro writes it."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    found = bytearray()
    while rest > 127:
        found.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*found, rest])
