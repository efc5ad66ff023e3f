"""Any value of JSON, without a schema: where it ends, and whether it says anything. Compiled."""

import numpy as np

from penstock.datapath.codec.json.scan_layout import (
    ARRAY,
    FRACTION,
    NULL,
    OBJECT,
    STRING,
    TRUTH,
    WHOLE,
)
from penstock.datapath.codec.json.scan_numbers import read_number
from penstock.datapath.codec.json.scan_text import INVALID, QUOTE, after_space, text_end
from penstock.datapath.codec.shared.byte_gather import Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import uint64, word_at

OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST, COMMA, COLON = 0x7B, 0x7D, 0x5B, 0x5D, 0x2C, 0x3A
LETTER_T, LETTER_F, LETTER_N = 0x74, 0x66, 0x6E
_FOUR, _FIVE = np.uint64(2**32 - 1), np.uint64(2**40 - 1)
_NULL = np.uint64(int.from_bytes(b"null", "little"))
_TRUE = np.uint64(int.from_bytes(b"true", "little"))
_FALSE = np.uint64(int.from_bytes(b"false", "little"))


@compiled
def null_end(data: Octets, at: int) -> int:
    """The place behind a null, whose first letter is here; INVALID if it is something else."""
    return at + 4 if word_at(data, at) & _FOUR == _NULL else INVALID


@compiled
def truth_end(data: Octets, at: int) -> int:
    """The same for true and false."""
    word = word_at(data, at)
    if word & _FOUR == _TRUE:
        return at + 4
    return at + 5 if word & _FIVE == _FALSE else INVALID


@compiled
def kind_at(data: Octets, at: int) -> int:
    """The kind of a sound value, as conflicts name it."""
    byte = data[at]
    if byte == OPEN_OBJECT:
        return OBJECT
    if byte == OPEN_LIST:
        return ARRAY
    if byte == QUOTE:
        return STRING
    if byte in (LETTER_T, LETTER_F):
        return TRUTH
    if byte == LETTER_N:
        return NULL
    return WHOLE if read_number(data, at)[3] else FRACTION


@compiled
def scalar_end(data: Octets, at: int, end: int) -> int:
    """The place behind a text, a number, a truth value or a null; INVALID if it is none."""
    byte = data[at]
    if byte == QUOTE:
        found = text_end(data, at + 1, end)[0]
        return found if found == INVALID else found + 1
    if byte == LETTER_N:
        return null_end(data, at)
    if byte in (LETTER_T, LETTER_F):
        return truth_end(data, at)
    return read_number(data, at)[0]


@compiled
def _key_end(data: Octets, at: int, end: int) -> int:
    """The place of a member's value, when its name begins here."""
    if data[at] != QUOTE:
        return INVALID
    at = text_end(data, at + 1, end)[0]
    if at == INVALID:
        return INVALID
    at = after_space(data, at + 1)
    return after_space(data, at + 1) if data[at] == COLON else INVALID


@compiled
def value_end(data: Octets, at: int, end: int, room: int) -> tuple[int, int]:
    """The place behind a value, and 1 if it says anything: not only null, [] and {}.

    `room` is how many levels it may have, at most 64. INVALID if it is not sound, has more levels,
    or does not end before `end`.
    """
    levels, says = 0, 0
    are_objects = uint64(0)  # a bit per level, the innermost is the lowest
    while at < end:
        byte = data[at]
        if byte in (OPEN_OBJECT, OPEN_LIST):
            levels += 1
            if levels > room:
                break
            is_object = uint64(byte == OPEN_OBJECT)
            are_objects = are_objects << uint64(1) | is_object
            at = after_space(data, at + 1)
            is_empty = data[at] == (CLOSE_OBJECT if is_object else CLOSE_LIST)
            if not is_empty:
                if is_object:
                    at = _key_end(data, at, end)
                    if at == INVALID:
                        break
                continue
        else:
            at = scalar_end(data, at, end)
            if at == INVALID:
                break
            says |= byte != LETTER_N
        while levels:
            at = after_space(data, at)
            is_object = are_objects & uint64(1)
            if data[at] != (CLOSE_OBJECT if is_object else CLOSE_LIST):
                break
            at, levels, are_objects = at + 1, levels - 1, are_objects >> uint64(1)
        if not levels:
            return at, says
        if data[at] != COMMA:
            break
        at = after_space(data, at + 1)
        if are_objects & uint64(1):
            at = _key_end(data, at, end)
            if at == INVALID:
                break
    return INVALID, 0
