"""The texts of numbers: their digits."""

import pyarrow as pa
import pyarrow.compute as pc

MOST_EXACT = 2**53  # up to here a double holds every whole number


def double_texts(column: pa.Array) -> pa.Array:
    """The texts of doubles, so that one that is whole has the text of the whole number.

    Those beyond, and fractions, have the fewest digits that tell them from others, and an exponent
    where Arrow writes one: `0.1`, `1e+16`, `1.5e-7`.
    """
    is_near = pc.less_equal(pc.abs(column), float(MOST_EXACT))
    is_whole = pc.and_(is_near, pc.equal(pc.trunc(column), column))
    digits = pc.if_else(is_whole, column, 0.0).cast(pa.int64()).cast(pa.string())
    return pc.if_else(is_whole, digits, column.cast(pa.string()))
