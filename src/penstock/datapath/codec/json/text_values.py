"""Single values as JSON, written into a buffer that has room for them. Compiled."""

from typing import NamedTuple

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Octets
from penstock.datapath.codec.shared.compiled import inlined
from penstock.datapath.codec.shared.value_types import Integer

# What a value is: first those that are a piece of bytes.
TEXT, BASE64, DOUBLE, DIGITS, INTEGER, DAY, MOMENT = range(7)

_COMMA = 44
_QUOTE, _BACKSLASH, _MINUS, _DOT, _ZERO, _COLON, _EQUALS = 34, 92, 45, 46, 48, 58, 61
_T, _Z, _E, _U = 84, 90, 101, 117
_FIRST_PRINTED = 32
_DAY_S = 86_400
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_SIXTY_FOUR = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
)
# The letter behind a backslash, by the byte that it stands for; 0: none.
_SHORT = np.frombuffer(bytes(8) + b"btn\0fr" + bytes(18), np.uint8)


class Letters(NamedTuple):
    """Tables of letters, and the literals of a schema end to end."""

    literals: Octets
    hex: Octets
    sixty_four: Octets
    short: Octets


def letters_with(literals: bytes) -> Letters:
    """The tables, with these literals."""
    return Letters(np.frombuffer(literals, np.uint8), _HEX, _SIXTY_FOUR, _SHORT)


@inlined
def put_bytes(source: Octets, start: int, size: int, data: Octets, at: int) -> Integer:
    """Write bytes as they are."""
    for number in range(size):
        data[at + number] = source[start + number]
    return at + size


@inlined
def put_null(data: Octets, at: int) -> Integer:
    """Write null."""
    data[at], data[at + 1], data[at + 2], data[at + 3] = 110, 117, 108, 108
    return at + 4


@inlined
def put_truth(data: Octets, at: int, is_true: bool) -> Integer:
    """Write true or false."""
    if is_true:
        data[at], data[at + 1], data[at + 2], data[at + 3] = 116, 114, 117, 101
        return at + 4
    data[at], data[at + 1], data[at + 2], data[at + 3], data[at + 4] = 102, 97, 108, 115, 101
    return at + 5


@inlined
def closing(is_map: Integer) -> Integer:
    """The bracket behind items; that before them is two letters earlier."""
    return 125 if is_map != 0 else 93


@inlined
def put_opening(data: Octets, at: int, is_map: Integer, is_empty: bool) -> Integer:
    """Write the bracket before items, and also that behind where there are none."""
    data[at], data[at + 1] = closing(is_map) - 2, closing(is_map)
    return at + 2 if is_empty else at + 1


@inlined
def put_comma(data: Octets, at: int, is_map: Integer, is_last: bool) -> Integer:
    """Write what follows an item."""
    data[at] = closing(is_map) if is_last else _COMMA
    return at + 1


@inlined
def put_number(act: int, value: Integer, a: Integer, b: Integer, data: Octets, at: int) -> Integer:
    """Write a whole number, a day, or a point in time with so many ticks in a second."""
    if act == INTEGER:
        return put_integer(data, at, value)
    if act == MOMENT:
        return put_moment(data, at, value, a, b)
    data[at] = _QUOTE
    at = put_day(data, at + 1, value)
    data[at] = _QUOTE
    return at + 1


@inlined
def put_integer(data: Octets, at: int, value: Integer) -> Integer:
    """Write digits. They are taken from negative numbers: the least one has no positive one."""
    if value < 0:
        data[at] = _MINUS
        at += 1
    else:
        value = -value
    size, rest = 1, value
    while rest <= -10:
        rest = tens_of(rest)
        size += 1
    for place in range(at + size - 1, at - 1, -1):
        tens = tens_of(value)
        data[place] = _ZERO + (10 * tens - value)
        value = tens
    return at + size


@inlined
def tens_of(value: Integer) -> Integer:
    """A negative number, or 0, without its last digit."""
    tens = value // 10
    return tens + 1 if value - 10 * tens > 0 else tens


@inlined
def put_digits(data: Octets, at: int, value: Integer, size: int) -> Integer:
    """Write a number that is not negative with so many digits."""
    for place in range(at + size - 1, at - 1, -1):
        data[place] = _ZERO + value % 10
        value //= 10
    return at + size


@inlined
def put_day(data: Octets, at: int, days: Integer) -> Integer:
    """Write a day of the years 1 to 9999, counted from 1970.

    Years are counted from March, so that a leap day is the last; and in eras of 400.
    """
    days += 719_468
    era = days // 146_097
    day = days - 146_097 * era
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month += 3 if month < 10 else -9
    year += 400 * era + (1 if month <= 2 else 0)
    at = put_digits(data, at, year, 4)
    data[at] = _MINUS
    at = put_digits(data, at + 1, month, 2)
    data[at] = _MINUS
    return put_digits(data, at + 1, day + 1, 2)


@inlined
def put_moment(data: Octets, at: int, value: Integer, ticks: int, is_utc: int) -> Integer:
    """Write a point in time in ISO 8601, with as many decimal places as its ticks have."""
    seconds = value // ticks
    days = seconds // _DAY_S
    second = seconds - _DAY_S * days
    data[at] = _QUOTE
    at = put_day(data, at + 1, days)
    data[at] = _T
    at = put_digits(data, at + 1, second // 3_600, 2)
    data[at] = _COLON
    at = put_digits(data, at + 1, second // 60 % 60, 2)
    data[at] = _COLON
    at = put_digits(data, at + 1, second % 60, 2)
    data[at] = _DOT
    at = put_digits(data, at + 1, value - ticks * seconds, 3 if ticks == 1_000 else 6)
    if is_utc != 0:
        data[at] = _Z
        at += 1
    data[at] = _QUOTE
    return at + 1


@inlined
def put_piece(
    act: int, source: Octets, start: int, size: int, letters: Letters, data: Octets, at: int
) -> Integer:
    """Write a text, bytes, or a number whose text is known."""
    if act == TEXT:
        return put_text(source, start, size, letters, data, at)
    if act == BASE64:
        return put_base64(source, start, size, letters, data, at)
    if act == DIGITS:  # in quotes: most readers take numbers for doubles, and would round them
        data[at] = _QUOTE
        at = put_bytes(source, start, size, data, at + 1)
        data[at] = _QUOTE
        return at + 1
    is_whole = True
    for number in range(size):
        letter = source[start + number]
        data[at + number] = letter
        is_whole = is_whole and letter != _DOT and letter != _E
    at += size
    if is_whole:  # so that it is a double for everybody
        data[at], data[at + 1] = _DOT, _ZERO
        at += 2
    return at


@inlined
def put_text(
    source: Octets, start: int, size: int, letters: Letters, data: Octets, at: int
) -> Integer:
    """Write a text in quotes; quotes, backslashes and controls inside with a backslash."""
    data[at] = _QUOTE
    at += 1
    for place in range(start, start + size):
        letter = source[place]
        if letter in (_QUOTE, _BACKSLASH):
            data[at], data[at + 1] = _BACKSLASH, letter
            at += 2
        elif letter >= _FIRST_PRINTED:
            data[at] = letter
            at += 1
        elif letters.short[letter] != 0:
            data[at], data[at + 1] = _BACKSLASH, letters.short[letter]
            at += 2
        else:
            data[at], data[at + 1], data[at + 2], data[at + 3] = _BACKSLASH, _U, _ZERO, _ZERO
            data[at + 4], data[at + 5] = letters.hex[letter >> 4], letters.hex[letter & 15]
            at += 6
    data[at] = _QUOTE
    return at + 1


@inlined
def put_base64(
    source: Octets, start: int, size: int, letters: Letters, data: Octets, at: int
) -> Integer:
    """Write bytes in base64, three as four letters."""
    data[at] = _QUOTE
    at += 1
    for place in range(start, start + size, 3):
        left = start + size - place
        found = np.int64(source[place]) << 16
        if left > 1:
            found |= np.int64(source[place + 1]) << 8
        if left > 2:
            found |= np.int64(source[place + 2])
        data[at] = letters.sixty_four[found >> 18]
        data[at + 1] = letters.sixty_four[(found >> 12) & 63]
        data[at + 2] = letters.sixty_four[(found >> 6) & 63] if left > 1 else _EQUALS
        data[at + 3] = letters.sixty_four[found & 63] if left > 2 else _EQUALS
        at += 4
    data[at] = _QUOTE
    return at + 1
