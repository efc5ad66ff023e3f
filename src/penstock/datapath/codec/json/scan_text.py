"""Texts of JSON, byte by byte: where they end, what they hold, and whether two are the same.

Compiled. Every function looks at most `PADDING` bytes beyond the record that it is given, and none
returns a place outside of it.
"""

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import (
    BLOCK,
    Word,
    copy_block,
    int64,
    plain_bytes,
    uint64,
    word_at,
)

QUOTE, BACKSLASH, SPACE = 0x22, 0x5C, 0x20
INVALID = -1

_NOT_HEX = 0xFF
_HEX = np.full(256, _NOT_HEX, np.uint8)
for _place, _digit in enumerate(b"0123456789abcdef"):
    _HEX[_digit] = _place
    _HEX[ord(chr(_digit).upper())] = _place
# What stands behind a backslash, and which byte it means; 0 for what may not stand there.
_MEANING = np.zeros(256, np.uint8)
for _letter, _meant in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _MEANING[_letter] = _meant
_U = 0x75
_HALF, _LOW_HALF, _AFTER_HALVES = 0xD800, 0xDC00, 0xE000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@compiled
def after_space(data: Octets, at: int) -> int:
    """The first place from here on that has no white space."""
    while data[at] <= SPACE:
        byte = data[at]
        if byte != SPACE and byte != 10 and byte != 13 and byte != 9:
            break
        at += 1
    return at


@compiled
def _code_unit(data: Octets, at: int) -> int:
    """The number that four hexadecimal digits spell, or INVALID."""
    unit = 0
    for place in range(at, at + 4):
        digit = _HEX[data[place]]
        if digit == _NOT_HEX:
            return INVALID
        unit = unit * 16 + int64(digit)
    return unit


@compiled
def _escape_end(data: Octets, at: int) -> int:
    """The place behind an escape, whose backslash is here; INVALID for half a surrogate pair."""
    letter = data[at + 1]
    if letter != _U:
        return at + 2 if _MEANING[letter] != 0 else INVALID
    unit = _code_unit(data, at + 2)
    if unit == INVALID or _LOW_HALF <= unit < _AFTER_HALVES:
        return INVALID
    if unit < _HALF or unit >= _AFTER_HALVES:
        return at + 6
    if data[at + 6] != BACKSLASH or data[at + 7] != _U:
        return INVALID
    low = _code_unit(data, at + 8)
    return at + 12 if _LOW_HALF <= low < _AFTER_HALVES else INVALID


@compiled
def text_end(data: Octets, at: int, end: int) -> tuple[int, int]:
    """Where the quote is that ends a text, and 1 if the text has escapes.

    `at` is the place behind its first quote. INVALID if there is no end before `end`.
    """
    has_escapes = 0
    while at < end:
        plain = plain_bytes(data, at)
        at += plain
        if plain == BLOCK:
            continue
        if at >= end:
            break
        byte = data[at]
        if byte == QUOTE:
            return at, has_escapes
        if byte != BACKSLASH:
            break
        at = _escape_end(data, at)
        if at == INVALID:
            break
        has_escapes = 1
    return INVALID, 0


@compiled
def unescape(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    """Write what a text means, as UTF-8; the place behind what was written.

    The text is known to be sound, and what it means is never longer than the text.
    """
    while at < end:
        byte = data[at]
        if byte != BACKSLASH:
            out[to] = byte
            at, to = at + 1, to + 1
            continue
        letter = data[at + 1]
        if letter != _U:
            out[to] = _MEANING[letter]
            at, to = at + 2, to + 1
            continue
        unit = _code_unit(data, at + 2)
        at += 6
        if _HALF <= unit < _AFTER_HALVES:
            unit = 0x10000 + ((unit - _HALF) << 10) + _code_unit(data, at + 2) - _LOW_HALF
            at += 6
        to = _write_character(unit, out, to)
    return to


@compiled
def _write_character(code: int, out: Octets, to: int) -> int:
    """Write a character as UTF-8; the place behind it."""
    if code < 0x80:
        out[to] = code
        return to + 1
    if code < 0x800:
        out[to] = 0xC0 | code >> 6
    elif code < 0x10000:
        out[to] = 0xE0 | code >> 12
        out[to + 1] = 0x80 | code >> 6 & 0x3F
        to += 1
    else:
        out[to] = 0xF0 | code >> 18
        out[to + 1] = 0x80 | code >> 12 & 0x3F
        out[to + 2] = 0x80 | code >> 6 & 0x3F
        to += 2
    out[to + 1] = 0x80 | code & 0x3F
    return to + 2


@compiled
def copy_bytes(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    """Copy some bytes; the place behind the copy. What lies behind it is overwritten, too."""
    for step in range(0, end - at, BLOCK):
        copy_block(out, to + step, data, at + step)
    return to + end - at


@compiled
def is_same(data: Octets, at: int, other: Octets, place: int, size: int) -> Word:
    """True if as many bytes are the same in two places."""
    while size >= 8:
        if word_at(data, at) != word_at(other, place):
            return False
        at, place, size = at + 8, place + 8, size - 8
    different = word_at(data, at) ^ word_at(other, place)
    # Shifted in two steps, since a shift by all 64 bits is undefined.
    return (different << uint64(63 - 8 * size)) << uint64(1) == uint64(0)


@compiled
def hash_of(data: Octets, at: int, end: int) -> Word:
    """A number for some bytes, different for most others."""
    found = uint64(end - at) * _FACTOR
    while end - at >= 8:
        found = (found ^ word_at(data, at)) * _FACTOR
        found ^= found >> _SHIFT
        at += 8
    size = end - at
    last = (word_at(data, at) << uint64(63 - 8 * size)) << uint64(1)
    found = (found ^ last) * _FACTOR
    return int64(found ^ (found >> _SHIFT))
