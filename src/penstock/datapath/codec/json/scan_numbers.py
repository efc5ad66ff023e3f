"""Numbers of JSON, digit by digit: integers of 64 bits, and the nearest double of a fraction.

Compiled. A double is exact in the same sense as in Python: it is the one nearest to what is
written. Short numbers need one division or multiplication of doubles, which is exact by itself
(Clinger). Others are multiplied by a power of five of 128 bits (Eisel and Lemire): up to 19 digits
that decides everything. What has more digits, or comes near the ends of the scale, is left to
Python, which has all the time in the world for the few that there are.
"""

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import (
    Word,
    double_bits,
    float64,
    high_product,
    int64,
    leading_zeros,
    uint64,
)

NOT_A_NUMBER = -1
# How a double was found.
EXACT, LEFT, TOO_LARGE = 0, 1, 2

_MOST_DIGITS = 19  # that an unsigned number of 64 bits always holds
_ZERO, _NINE, _MINUS, _PLUS, _POINT = 48, 57, 45, 43, 46
_LEAST_POWER, _MOST_POWER = -342, 308
_LARGEST_EXPONENT = 100_000
_FAR_FROM_INFINITY = 290
_TENS = np.array([float(10**power) for power in range(23)])
_SIGN = np.int64(-(2**63))
_INT64_MAX = np.uint64(2**63 - 1)
_EXACT_MOST = np.uint64(2**53)


def _power_of_five(power: int) -> int:
    """The 128 highest bits of a power of five; rounded up if the power is negative."""
    if power >= 0:
        whole: int = 5**power
        shift = whole.bit_length() - 128
        return whole >> shift if shift > 0 else whole << -shift
    divisor: int = 5**-power
    scale = divisor.bit_length() + 127
    found: int = (1 << scale) // divisor + 1
    return found >> (found.bit_length() - 128)


_FIVES = np.array(
    [
        half
        for power in range(_LEAST_POWER, _MOST_POWER + 1)
        for half in (_power_of_five(power) >> 64, _power_of_five(power) & (2**64 - 1))
    ],
    np.uint64,
)


@compiled
def _is_digit(byte: int) -> bool:
    return _ZERO <= byte <= _NINE


@compiled
def read_number(data: Octets, at: int) -> tuple[int, np.uint64, int, int, int]:
    """Where a number ends, its digits, its power of ten, whether it is whole, and its digits left.

    NOT_A_NUMBER if JSON does not spell numbers so. A sign is not part of the digits. Digits beyond
    19 are left out, and the last of what is returned is how many.
    """
    at += data[at] == _MINUS
    digits, power, used, left = uint64(0), 0, 0, 0
    if not _is_digit(data[at]):
        return NOT_A_NUMBER, digits, 0, 0, 0
    if data[at] == _ZERO:
        at += 1
    else:
        while _is_digit(data[at]):
            if used < _MOST_DIGITS:
                digits = digits * uint64(10) + uint64(data[at] - _ZERO)
                used += 1
            else:
                left += 1
            at += 1
    power = left
    byte = data[at]
    if byte != _POINT and byte != 0x65 and byte != 0x45:
        return at, digits, power, 1, left
    if byte == _POINT:
        at += 1
        if not _is_digit(data[at]):
            return NOT_A_NUMBER, digits, 0, 0, 0
        while _is_digit(data[at]):
            if used < _MOST_DIGITS:
                digits = digits * uint64(10) + uint64(data[at] - _ZERO)
                used += digits > uint64(0)
                power -= 1
            else:
                left += 1
            at += 1
    if data[at] == 0x65 or data[at] == 0x45:
        at, exponent = _exponent(data, at + 1)
        power += exponent
    return at, digits, power, 0, left


@compiled
def _exponent(data: Octets, at: int) -> tuple[int, int]:
    """Where an exponent ends, and what it is; a very large one is cut."""
    is_negative = data[at] == _MINUS
    at += is_negative or data[at] == _PLUS
    if not _is_digit(data[at]):
        return NOT_A_NUMBER, 0
    exponent = 0
    while _is_digit(data[at]):
        exponent = min(exponent * 10 + int64(data[at] - _ZERO), _LARGEST_EXPONENT)
        at += 1
    return at, -exponent if is_negative else exponent


@compiled
def fits_int64(digits: np.uint64, is_negative: bool, left: int) -> Word:
    """True for a whole number that 64 bits can hold."""
    most = _INT64_MAX + uint64(1) if is_negative else _INT64_MAX
    return left == 0 and digits <= most


@compiled
def signed(digits: np.uint64, is_negative: bool) -> Word:
    """The whole number."""
    return -int64(digits) if is_negative else int64(digits)


@compiled
def whole_double(digits: np.uint64, is_negative: bool, left: int) -> tuple[int, int]:
    """How a whole number becomes a double, and the bits of that; only if they are equal."""
    if left:
        return LEFT, 0
    if digits > _EXACT_MOST:
        # Equal only if all bits of the number are within the 53 highest: the others are zero.
        spare = uint64(11 - leading_zeros(digits))
        if (digits >> spare) << spare != digits:
            return TOO_LARGE, 0
    number = float64(digits)
    return EXACT, double_bits(-number if is_negative and digits else number)


@compiled
def nearest_double(digits: np.uint64, power: int, is_negative: bool, left: int) -> tuple[int, Word]:
    """How the double nearest to a number was found, and its bits."""
    sign = _SIGN if is_negative else int64(0)
    if digits == uint64(0) and left == 0:
        return EXACT, sign
    if left or power < _LEAST_POWER or power > _MOST_POWER:
        is_safe = power + _MOST_DIGITS + 1 < _FAR_FROM_INFINITY
        return (LEFT if is_safe else TOO_LARGE), 0
    if digits <= _EXACT_MOST and -22 <= power <= 22:
        number = float64(digits)
        number = number * _TENS[power] if power >= 0 else number / _TENS[-power]
        return EXACT, double_bits(number) | sign
    how, bits = _by_power_of_five(digits, power)
    return how, bits | sign


@compiled
def _by_power_of_five(digits: np.uint64, power: int) -> tuple[int, int]:
    """The same for up to 19 digits, after Lemire, "Number parsing at a gigabyte per second"."""
    zeros = leading_zeros(digits)
    digits <<= uint64(zeros)
    place = 2 * (power - _LEAST_POWER)
    upper, lower = high_product(digits, _FIVES[place]), digits * _FIVES[place]
    if upper & uint64(0x1FF) == uint64(0x1FF):
        more = high_product(digits, _FIVES[place + 1])
        lower += more
        upper += uint64(1) if more > lower else uint64(0)
    first = upper >> uint64(63)
    shift = first + uint64(9)
    mantissa = upper >> shift
    exponent = ((217_706 * power) >> 16) + 63 + int64(first) - zeros + 1023
    if exponent <= 0:
        return LEFT, 0
    is_half = lower <= uint64(1) and -4 <= power <= 23 and mantissa & uint64(3) == uint64(1)
    if is_half and mantissa << shift == upper:
        mantissa &= ~uint64(1)
    mantissa = (mantissa + (mantissa & uint64(1))) >> uint64(1)
    if mantissa >= uint64(2**53):
        mantissa = uint64(2**52)
        exponent += 1
    if exponent >= 2047:
        return TOO_LARGE, 0
    return EXACT, (exponent << 52) | int64(mantissa & uint64(2**52 - 1))
