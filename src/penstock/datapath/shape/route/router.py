"""Routes: which dataset each record belongs to.

The value behind a route is a text; numbers and booleans count as their JSON text, so the number 1
and the text "1" name the same dataset. A dataset's directory is the encoded value. Values that
differ in any character, even in the Unicode form of one letter, are different datasets; whether a
file system can tell their directories apart (some ignore case) is not looked at.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.route.distinct_names import DistinctNames
from penstock.datapath.shape.route.value_names import Codes, encode_scalars
from penstock.model.bad_records import BadRecord
from penstock.model.headers import first_header
from penstock.model.names import decode_component, encode_component
from penstock.model.spec import FeedSpec, RouteSpec

ROUTE_MISSING = "ROUTE_MISSING"
ROUTE_UNKNOWN = "ROUTE_UNKNOWN"
ROUTE_FLOOD = "ROUTE_FLOOD"

NOT_ROUTED = -1
# What the table says about a text that has no dataset; all are below zero.
_MISSING, _UNKNOWN, _FLOOD, _FILTER = -1, -2, -3, -4


@dataclass(frozen=True, slots=True)
class Routed:
    """A code per row into this batch's datasets (directory names, in order of appearance).

    A row with `NOT_ROUTED` is either in `bad` or in `filtered`, which are both in row order.
    """

    codes: Codes
    datasets: list[str]
    bad: list[BadRecord]
    filtered: NDArray[np.int64]


class Router:
    """Assigns the records of one task and window, batch by batch.

    `known` are the directory names of datasets that exist already. Only declared datasets escape
    the feed's `unknown` policy. Under `create`, a task may bring up to `max_new` new datasets: the
    first ones in offset order, so a task that is tried again makes the same choice; records of the
    others go to the quarantine. Not for use by several threads at once.
    """

    def __init__(self, spec: FeedSpec, known: frozenset[str], max_new: int = 1000) -> None:
        self._route = spec.route
        self._unknown = spec.unknown
        self._declared = frozenset(dataset.route for dataset in spec.datasets)
        self._known = known
        self._room = max_new
        self._limit = spec.max_new_types
        self._refused = DistinctNames()
        self._accepted: dict[str, str] = {}

    def known_texts(self) -> dict[str, str]:
        """Texts that lead to a dataset that exists, whatever came before them in the window."""
        texts = {name: decode_component(name) for name in self._known}
        declared = {encode_component(text) for text in self._declared}
        return {
            text: name
            for name, text in texts.items()
            if text is not None and (self._unknown == "create" or name in declared)
        }

    def assign(self, values: Sequence[object | None]) -> Routed:
        """Route a batch by its raw values: scalars from JSON, header texts or bytes, or topics."""
        found = encode_scalars(values)
        datasets: dict[str, int] = {}
        table = np.full(len(found.texts) + 1, _MISSING, np.int32)  # the last place is for no text
        for place, text in enumerate(found.texts):
            name = self._dataset(text)
            table[place] = (
                name if isinstance(name, int) else datasets.setdefault(name, len(datasets))
            )
        verdicts = table[found.codes]
        bad = [
            self._bad(row, verdict, values[row])
            for row, verdict in _at(verdicts, (verdicts < 0) & (verdicts != _FILTER))
        ]
        filtered = np.flatnonzero(verdicts == _FILTER)
        codes = np.maximum(verdicts, NOT_ROUTED)
        return Routed(codes, list(datasets), bad, filtered)

    def accepted(self, text: str) -> str | None:
        """The dataset of a text that was given one before."""
        return self._accepted.get(text)

    def refused_names(self) -> tuple[int, ...]:
        """What stands for the new datasets that there was no room for."""
        return self._refused.hashes()

    def _dataset(self, text: str) -> str | int:
        """The directory of a text, or the verdict about a text that gets none."""
        name = self._accepted.get(text)
        if name is not None:
            return name
        verdict = None if text in self._declared else self._undeclared(text)
        if verdict is not None:
            return verdict
        name = self._accepted[text] = encode_component(text)
        return name

    def _undeclared(self, text: str) -> int | None:
        """The verdict about a dataset that is not declared; None when it may be created."""
        match self._unknown:
            case "filter":
                return _FILTER
            case "quarantine":
                return _UNKNOWN
            case "create":
                if encode_component(text) in self._known:
                    return None
                if self._room <= 0:
                    self._refused.add(text)
                    return _FLOOD
                self._room -= 1
                return None
            case _ as never:
                assert_never(never)

    def _bad(self, row: int, verdict: int, value: object) -> BadRecord:
        """Say why a row has no dataset, without repeating what the record says."""
        origin = _origin(self._route)
        if verdict == _UNKNOWN:
            return BadRecord(row, ROUTE_UNKNOWN, f"{origin}: not a declared dataset")
        if verdict == _FLOOD:
            why = f"{origin}: more than {self._limit} new datasets in one window (max_new_types)"
            return BadRecord(row, ROUTE_FLOOD, why)
        if value is None:
            return BadRecord(row, ROUTE_MISSING, f"{origin}: absent or null")
        if value in ("", b""):
            return BadRecord(row, ROUTE_MISSING, f"{origin}: empty")
        return BadRecord(row, ROUTE_MISSING, f"{origin}: not a value that can name a dataset")


def group(codes: Codes, count: int) -> list[NDArray[np.int64]]:
    """The rows of each code in [0, count), in their order; rows with a negative code are left."""
    if len(codes) and int(codes.max()) >= count:
        raise ValueError(f"a code of {int(codes.max())}, and there are {count}")
    narrow = codes.astype(np.int16) if count < 2**15 else codes  # numpy sorts these in linear time
    order = np.argsort(narrow, kind="stable")
    ends = np.searchsorted(narrow[order], np.arange(count + 1))
    return [order[ends[code] : ends[code + 1]] for code in range(count)]


def members_by_name(codes: Codes, names: list[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """The rows of each name that has any."""
    for name, members in zip(names, group(codes, len(names)), strict=True):
        if len(members):
            yield name, members


def header_values(headers_json: pa.Array, name: str) -> list[str | None]:
    """The value of a header in each row, from headers as JSON text with values in base64.

    The first header of that name counts. None where there is none, where it has no value, and
    where its value is not UTF-8.
    """
    decoded: dict[str | None, str | None] = {None: None}
    found = []
    for text in headers_json.to_pylist():
        header = None if text is None else first_header(text, name)
        value = None if header is None else header.value
        if value is not None and value not in decoded:
            decoded[value] = _decoded(value)
        found.append(decoded[value])
    return found


def _decoded(value: str) -> str | None:
    """The text behind base64, if there is any."""
    try:
        return base64.b64decode(value, validate=True).decode("utf-8")
    except ValueError:
        return None


def _origin(route: RouteSpec) -> str:
    """What a user calls the place that the route value comes from."""
    return "topic" if route.kind == "topic" else f"{route.kind} {route.name}"


def _at(verdicts: Codes, chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The rows that are chosen, with their verdicts."""
    rows = np.flatnonzero(chosen)
    return list(zip(rows.tolist(), verdicts[rows].tolist(), strict=True))
