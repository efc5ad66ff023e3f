"""A guess at the route of every record, without parsing: to parse similar records together.

A parser that meets records of one kind after the other is faster than one that meets them mixed,
and so is the code that turns them into columns. A wrong guess costs time and changes nothing.
"""

import json
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.codec.shared.buffers import buffers_of

NOT_GUESSED = -1
_LONGEST = 64
_QUOTE, _SPACE = 0x22, 0x20

Codes = npt.NDArray[np.int16 | np.int32]


def guess_routes(values: pa.Array, field: str, codes: Mapping[str, int]) -> Codes:
    """The code of the text that seems to be in a field, at its first mention in each payload."""
    found: Codes = np.full(len(values), NOT_GUESSED, code_type(len(codes)))
    longest = min(max((len(text.encode()) for text in codes), default=0), _LONGEST)
    data, offsets = buffers_of(values)
    width = longest + 1  # with the closing quote
    if len(data) <= width:
        return found
    name = json.dumps(field, ensure_ascii=False).encode() + b":"
    mentioned = pc.find_substring(values, name).to_numpy(zero_copy_only=False)
    last = len(data) - width
    starts = np.minimum(offsets[:-1] + mentioned + len(name), last - 1)
    starts += data[starts] == _SPACE
    seen = (mentioned >= 0) & (data[starts] == _QUOTE) & (starts < last)
    rows = np.flatnonzero(seen)
    texts = np.lib.stride_tricks.sliding_window_view(data, width)[starts[rows] + 1]
    found[rows] = _codes_of(texts, codes)
    return found


def code_type(kinds: int) -> type[np.int16] | type[np.int32]:
    """The type of codes below `kinds`; the short one where it does, since it is sorted quicker."""
    return np.int16 if kinds < 2**15 else np.int32


def _codes_of(texts: npt.NDArray[np.uint8], codes: Mapping[str, int]) -> Codes:
    """The codes of texts that end with a quote, each in a row of bytes."""
    is_quote = texts == _QUOTE
    ends = np.where(is_quote.any(axis=1), is_quote.argmax(axis=1), 0)
    texts *= np.arange(texts.shape[1]) < ends[:, None]
    cells = pa.Array.from_buffers(
        pa.binary(texts.shape[1]), len(texts), [None, pa.py_buffer(np.ascontiguousarray(texts))]
    ).dictionary_encode()
    by_bytes = {text.encode(): code for text, code in codes.items()}
    known = [by_bytes.get(cell.rstrip(b"\0"), NOT_GUESSED) for cell in cells.dictionary.to_pylist()]
    chosen: Codes = np.array(known, code_type(len(codes)))[cells.indices.to_numpy()]
    return chosen
