"""One batch on its way into columns: the fast way, and the reference for whatever it refuses."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.codec import RowRange
from penstock.datapath.codec.json.columns import columns_of
from penstock.datapath.codec.json.decode_plan import DecodePlan
from penstock.datapath.codec.json.payload import PARSER_ERRORS, Screen, fault_of, refuse
from penstock.datapath.codec.json.reference import ReferenceDecoder
from penstock.datapath.codec.json.unknown_fields import UnknownFields
from penstock.datapath.codec.json.value_count import has_too_many
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import TOO_MANY, BadValue
from penstock.datapath.codec.shared.value_count import too_many
from penstock.datapath.codec.shared.value_types import ParsedRecord
from penstock.model.bad_records import BadRecord
from penstock.model.pinned_types import TypeTree
from penstock.model.read_ways import NO_COLUMN, NOT_FITTING, OTHER_FORM, OTHER_TYPE, ReadCounts

# Small enough that parsed objects stay in the processor's cache until they are columns.
_CHUNK = 2_048


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch of records as columns.

    `batch` holds the good records in their order and `good` says which they were; `bad` the
    others. `unknown` names fields that have no column and could get one, `unknown_at` the record
    that showed each of them first: a sample that has these records has all that is new. `counts`
    says which way the records were read, and what did not fit; `singly` are the records that the
    reference has read.
    """

    batch: pa.RecordBatch
    good: npt.NDArray[np.int64]
    bad: list[BadRecord]
    unknown: tuple[str, ...] = ()
    unknown_at: tuple[int, ...] = ()
    counts: ReadCounts = field(default_factory=ReadCounts)
    singly: tuple[int, ...] = ()


def decode(
    values: pa.Array,
    plan: DecodePlan,
    limits: Limits,
    exact_only: bool,
    types: TypeTree | None = None,
) -> Decoded:
    """Decode every record; a bad one never affects its neighbours."""
    decoding = _Decoding(values, plan, limits, ReferenceDecoder(exact_only, types))
    for chunk in plan.counter.chunks(values, _CHUNK, limits.max_values):
        decoding.add(chunk, values.slice(chunk.start, len(chunk)).to_pylist())
    return decoding.result(len(values))


class _Decoding:
    """Gathers columns chunk by chunk."""

    def __init__(
        self, values: pa.Array, plan: DecodePlan, limits: Limits, reference: ReferenceDecoder
    ) -> None:
        self._plan = plan
        self._limits = limits
        self._exact_only = reference.exact_only
        self._reference = reference
        self._counts = self._reference.counts
        self._singly: list[int] = []
        screen = Screen(values, limits)
        self._has_long = bool(screen.too_long())
        self._unknown_fields = UnknownFields(screen, self._reference)
        self._columns: list[list[pa.Array]] = [[] for _ in plan.schema]
        self._good: list[npt.NDArray[np.int64]] = []
        self._bad: list[BadRecord] = []

    def add(self, chunk: RowRange, payloads: list[bytes]) -> None:
        """Decode a chunk; of a record that may be too much, the parser makes nothing unjudged."""
        parse: Callable[[bytes], ParsedRecord] = refuse
        start = chunk.start
        if not self._exact_only and not chunk.is_heavy and not self._is_long(payloads):
            self._plan = self._unknown_fields.widen(self._plan)
            parse = self._plan.decode or refuse
        objects: list[ParsedRecord] = []
        keep = objects.append
        left: dict[int, str] = {}
        bad_before = len(self._bad)
        for payload in self._unknown_fields.without_suspects(self._plan, start, payloads):
            try:
                keep(parse(payload))
            except PARSER_ERRORS:
                index = len(objects)
                found = self._judge(start + index, payloads[index], left)
                self._singly.append(start + index)
                self._count_reference(is_bad=found is None)
                keep(found)
        good = np.arange(start, start + len(objects), dtype=np.int64)
        if len(self._bad) > bad_before:
            good = good[[each is not None for each in objects]]
            objects = [each for each in objects if each is not None]
        self._unknown_fields.gather(self._plan, objects, good, left)
        self._take(objects, good, left)

    def _is_long(self, payloads: list[bytes]) -> bool:
        """True when the chunk has a payload that is too long, which the parser would not mind."""
        return self._has_long and max(map(len, payloads)) > self._limits.max_bytes

    def _count_reference(self, *, is_bad: bool) -> None:
        """Count a record that the reference has read, and why it had to."""
        self._counts.reference += 1
        misfit = next(iter(self._reference.misfits), None)
        if is_bad:
            self._counts.add_reason(self._bad[-1].reason)
        elif self._plan.decode is None:
            self._counts.add_reason(OTHER_TYPE)
        elif misfit is not None:
            path, wanted, _ = misfit
            self._counts.add_reason(NOT_FITTING if wanted else NO_COLUMN, path)
        else:
            self._counts.add_reason(OTHER_FORM)

    def _judge(self, index: int, payload: bytes, left: dict[int, str]) -> ParsedRecord | None:
        """Decide about one record alone: an object of the plan, or None when it is bad."""
        fault = fault_of(payload, self._limits)
        if fault is not None:
            self._bad.append(BadRecord(index, *fault))
            return None
        if has_too_many(payload, self._plan.fields, self._limits.max_values):
            self._bad.append(BadRecord(index, TOO_MANY, too_many(self._limits.max_values)))
            return None
        try:
            fitted, rest = self._reference.fit(self._plan, index, payload)
        except BadValue as bad_value:
            self._bad.append(BadRecord(index, bad_value.reason, str(bad_value)))
            return None
        if rest is not None:
            left[index] = rest
        return fitted

    def _take(
        self, objects: list[ParsedRecord], good: npt.NDArray[np.int64], left: dict[int, str]
    ) -> None:
        """Turn the good objects of a chunk into a piece of every column."""
        rest = pa.nulls(len(objects), pa.string())
        if left:
            rest = pa.array([left.get(index) for index in good.tolist()], pa.string())
        pieces = [*columns_of(self._plan.root, objects), rest]
        for column, piece in zip(self._columns, pieces, strict=True):
            column.append(piece)
        self._good.append(good)

    def result(self, records: int) -> Decoded:
        """Everything added so far as one batch, of so many records."""
        self._counts.fast = records - self._counts.reference
        schema = self._plan.schema
        arrays = [
            pa.concat_arrays(pieces) if pieces else pa.array([], column.type)
            for pieces, column in zip(self._columns, schema, strict=True)
        ]
        unknown = sorted(self._reference.unknown.items())
        return Decoded(
            batch=pa.RecordBatch.from_arrays(arrays, schema=schema),
            good=np.concatenate(self._good) if self._good else np.empty(0, np.int64),
            bad=self._bad,
            unknown=tuple(path for path, _ in unknown),
            unknown_at=tuple(index for _, index in unknown),
            counts=self._counts,
            singly=tuple(self._singly),
        )
