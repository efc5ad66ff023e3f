"""Single machine instructions that Numba has no words for: many bytes at once, and wide products.

The compiler is told the instruction itself. None of them checks a bound: whoever hands over an
array has put at least `PADDING` bytes after the last one that counts.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

PADDING = 64  # bytes after the last one, since every look may be that wide
BLOCK = 32  # bytes that are looked at, or copied, at once

Compiler: TypeAlias = Any  # Any: parts of Numba's compiler, which has no types
Word: TypeAlias = Any  # Any: a number of the machine; the compiler knows its width and sign
Bytes: TypeAlias = Any  # Any: an array of bytes, or a pointer to its first
Made = tuple[Compiler, Callable[[Compiler, ir.IRBuilder, Compiler, list[ir.Value]], ir.Value]]

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_MANY = ir.VectorType(_BYTE, BLOCK)
_QUOTE, _BACKSLASH, _SPACE = 0x22, 0x5C, 0x20


def _place(
    context: Compiler, builder: ir.IRBuilder, kind: Compiler, array: ir.Value, index: ir.Value
) -> ir.Value:
    """The address of a byte of an array."""
    if not isinstance(kind, types.CPointer):
        array = context.make_array(kind)(context, builder, array).data
    return builder.gep(array, [index])


def _load(builder: ir.IRBuilder, place: ir.Value, kind: ir.Type) -> ir.Value:
    """Bytes that begin anywhere."""
    found = builder.load(builder.bitcast(place, kind.as_pointer()))
    found.align = 1
    return found


def _repeated(value: int) -> ir.Constant:
    return ir.Constant(_MANY, [value] * BLOCK)


def _word_at(_typing: Compiler, data: Compiler, _at: Compiler) -> Made:
    """Eight bytes that begin at a place, as a number; the first byte is the lowest."""

    def make(
        context: Compiler, builder: Compiler, signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        place = _place(context, builder, signature.args[0], *arguments)
        return _load(builder, place, _WORD)

    return types.uint64(data, types.int64), make


def _plain_bytes(_typing: Compiler, data: Compiler, _at: Compiler) -> Made:
    """How many of the next 32 bytes of a JSON text are neither quote, backslash nor control."""

    def make(
        context: Compiler, builder: Compiler, signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        place = _place(context, builder, signature.args[0], *arguments)
        many = _load(builder, place, _MANY)
        is_quote = builder.icmp_unsigned("==", many, _repeated(_QUOTE))
        is_escape = builder.icmp_unsigned("==", many, _repeated(_BACKSLASH))
        is_control = builder.icmp_unsigned("<", many, _repeated(_SPACE))
        found = builder.or_(builder.or_(is_quote, is_escape), is_control)
        bits = builder.zext(builder.bitcast(found, ir.IntType(BLOCK)), _WORD)
        bits = builder.or_(bits, ir.Constant(_WORD, 1 << BLOCK))
        return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))

    return types.int64(data, types.int64), make


def _copy_block(
    _typing: Compiler, out: Compiler, _to: Compiler, data: Compiler, _at: Compiler
) -> Made:
    """Copy 32 bytes."""

    def make(
        context: Compiler, builder: Compiler, signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        to = _place(context, builder, signature.args[0], *arguments[:2])
        place = _place(context, builder, signature.args[2], *arguments[2:])
        stored = builder.store(
            _load(builder, place, _MANY), builder.bitcast(to, _MANY.as_pointer())
        )
        stored.align = 1
        return context.get_dummy_value()

    return types.void(out, types.int64, data, types.int64), make


def _high_product(_typing: Compiler, _one: Compiler, _other: Compiler) -> Made:
    """The upper 64 bits of a product."""

    def make(
        _context: Compiler, builder: Compiler, _signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        wide = ir.IntType(128)
        one, other = (builder.zext(each, wide) for each in arguments)
        product = builder.mul(one, other)
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)

    return types.uint64(types.uint64, types.uint64), make


def _leading_zeros(_typing: Compiler, _word: Compiler) -> Made:
    """How many bits of a word are zero before the first that is not."""

    def make(
        _context: Compiler, builder: Compiler, _signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), make


def _double_bits(_typing: Compiler, _number: Compiler) -> Made:
    """The bits of a double, as a number."""

    def make(
        _context: Compiler, builder: Compiler, _signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        return builder.bitcast(arguments[0], _WORD)

    return types.int64(types.float64), make


def _pointer_to(_typing: Compiler, array: Compiler) -> Made:
    """The address of the first value of an array.

    An array counts who uses it, each time that it is handed over; a pointer does not. Whoever
    takes a pointer holds the array as long.
    """

    def make(
        context: Compiler, builder: Compiler, signature: Compiler, arguments: Compiler
    ) -> ir.Value:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    pointer: Compiler = types.CPointer
    return pointer(array.dtype)(array), make


def _as_function(make: Callable[..., Made]) -> Callable[..., Word]:
    """What compiled functions call."""
    return cast("Callable[..., Word]", intrinsic(make))


word_at = _as_function(_word_at)
plain_bytes = _as_function(_plain_bytes)
copy_block = _as_function(_copy_block)
high_product = _as_function(_high_product)
leading_zeros = _as_function(_leading_zeros)
double_bits = _as_function(_double_bits)
pointer_to = _as_function(_pointer_to)
# Numbers of a kind; a mixture of signed and unsigned ones would become a double.
int64: Callable[[Word], Word] = np.int64
uint64: Callable[[Word], Word] = np.uint64
float64: Callable[[Word], Word] = np.float64
