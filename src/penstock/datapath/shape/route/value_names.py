"""Raw values as names: the text of a scalar, and a column of texts as a dictionary.

Routes and partition values both come from here, so that the same value means the same text.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Codes = NDArray[np.int32]

NO_TEXT = -1
_LONGEST_INT_BITS = 1_024


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A column as codes into its distinct texts, in order of appearance; `NO_TEXT` for none."""

    codes: Codes
    texts: list[str]


def scalar_text(value: object) -> str | None:
    """The text of a scalar: itself, its JSON text, or bytes as UTF-8; None for anything else.

    None also for the empty text and for numbers that cannot be a name: not finite, or endless.
    """
    if isinstance(value, str):
        return value or None
    if isinstance(value, bytes):
        return _utf8(value) or None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT_BITS:
        return None
    return json.dumps(value) if isinstance(value, int | float) else None


def encode_scalars(column: Sequence[object | None] | pa.Array) -> Dictionary:
    """Find the distinct texts of a column. Texts that differ in any character stay apart."""
    values = column.to_pylist() if isinstance(column, pa.Array) else column
    if set(map(type, values)) <= {str, type(None)}:
        try:
            return _encode_strings(pa.array(values, pa.large_string()))
        except UnicodeEncodeError:
            pass  # half of a surrogate pair, which Arrow cannot hold; Python can
    found: dict[str, int] = {}
    codes = np.empty(len(values), np.int32)
    for row, value in enumerate(values):
        text = scalar_text(value)
        codes[row] = NO_TEXT if text is None else found.setdefault(text, len(found))
    return Dictionary(codes, list(found))


def _encode_strings(array: pa.LargeStringArray) -> Dictionary:
    """The same for a column of texts and nulls, in compiled code."""
    encoded = array.dictionary_encode()
    codes: Codes = encoded.indices.fill_null(NO_TEXT).to_numpy(zero_copy_only=False)
    texts: list[str] = encoded.dictionary.to_pylist()
    if "" not in texts:
        return Dictionary(codes, texts)
    empty = texts.index("")
    texts.pop(empty)
    renumbered = np.where(codes > empty, codes - 1, codes).astype(np.int32)
    return Dictionary(np.where(codes == empty, NO_TEXT, renumbered).astype(np.int32), texts)


def _utf8(value: bytes) -> str | None:
    """Bytes as text, if they are UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None
