"""MessagePack token by token, for the few things that a parser for Python's values does not tell.

A token is a header with the bytes that belong to it alone: what a map or an array holds follows as
tokens of its own. Payloads may hold anything; the reader of the whole record reports what is wrong.
"""

import struct
from collections.abc import Iterator

# Of headers above 0xc0: the bytes of a length behind them, and the bytes without such a length.
_LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXTENSIONS = frozenset({0xC7, 0xC8, 0xC9})  # a byte behind the length is the extension's kind
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_FIXED |= {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_CONTAINERS = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}  # by the bytes of their count
_FALSE, _TRUE = 0xC2, 0xC3

# Timestamps with nanoseconds: 30 bits of them before 34 of seconds, or four bytes before eight.
_SHORT, _LONG = b"\xd7\xff", b"\xc7\x0c\xff"
_SECOND_BITS = 34


def with_whole_micros(payload: bytes) -> bytes:
    """The same payload with timestamps that have no nanoseconds; a parser would round them up."""
    if not _may_be_finer(payload, _SHORT, 2) and not _may_be_finer(payload, _LONG, 0):
        return payload
    cut = bytearray(payload)
    for at, _ in _tokens(payload):
        if payload.startswith(_SHORT, at) and at + 10 <= len(payload):
            raw = int.from_bytes(payload[at + 2 : at + 10], "big")
            spare = (raw >> _SECOND_BITS) % 1_000
            cut[at + 2 : at + 10] = (raw - (spare << _SECOND_BITS)).to_bytes(8, "big")
        elif payload.startswith(_LONG, at) and at + 7 <= len(payload):
            (nanos,) = struct.unpack_from(">I", payload, at + 3)
            struct.pack_into(">I", cut, at + 3, nanos - nanos % 1_000)
    return bytes(cut)


def _may_be_finer(payload: bytes, mark: bytes, spare_bits: int) -> bool:
    """Whether bytes that may be a timestamp have nanoseconds that are not whole microseconds."""
    at = payload.find(mark)
    while at >= 0:
        start = at + len(mark)
        nanos = int.from_bytes(payload[start : start + 4], "big") >> spare_bits
        if nanos % 1_000:
            return True
        at = payload.find(mark, at + 1)
    return False


def has_boolean_key(payload: bytes) -> bool:
    """Whether true or false is a key of a map."""
    return any(is_key and payload[at] in {_FALSE, _TRUE} for at, is_key in _tokens(payload))


def _tokens(payload: bytes) -> Iterator[tuple[int, bool]]:
    """Where each token begins, and whether it begins a key. Nothing grows but with the depth."""
    at = 0
    open_: list[list[int]] = [[1, 0]]  # values that are to come, and 1 for a map
    while at < len(payload) and open_:
        left, is_map = open_[-1]
        if left == 0:
            open_.pop()
            continue
        open_[-1][0] -= 1
        yield at, bool(is_map) and left % 2 == 0
        at, count, is_map = _after(payload, at)
        if count:
            open_.append([count, is_map])


def _after(payload: bytes, at: int) -> tuple[int, int, int]:
    """Where the next token begins, how many values a container has, and 1 if it is a map."""
    head = payload[at]
    if 0x80 <= head < 0x90:
        return at + 1, 2 * (head & 15), 1
    if 0x90 <= head < 0xA0:
        return at + 1, head & 15, 0
    if 0xA0 <= head < 0xC0:
        return at + 1 + (head & 31), 0, 0
    if head in _CONTAINERS:
        width, is_map = _CONTAINERS[head], int(head >= 0xDE)
        count = int.from_bytes(payload[at + 1 : at + 1 + width], "big")
        return at + 1 + width, count * (1 + is_map), is_map
    if head in _LENGTHS:
        width = _LENGTHS[head]
        length = int.from_bytes(payload[at + 1 : at + 1 + width], "big")
        return at + 1 + width + (head in _EXTENSIONS) + length, 0, 0
    return at + 1 + _FIXED.get(head, 0), 0, 0
