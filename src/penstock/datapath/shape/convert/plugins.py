"""Plug-ins that convert: found by name, called with care, and never believed.

Whatever a plug-in does, each record that went in comes out once: converted, filtered or bad. One
that breaks its promise, or raises an error, makes the records bad that it was given.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from operator import index
from typing import Any, TypeAlias, cast

import msgspec
import numpy as np
import pyarrow as pa

from penstock.api.converter import BatchConverter, ConvertedBatch, RecordConverter
from penstock.api.doors import CONVERTERS
from penstock.api.find import STOPS, make, offer, said
from penstock.datapath.shape.convert.arrow_fields import named_schema, types_in
from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow, Given
from penstock.datapath.shape.convert.plugin_values import Unfit, record_reader
from penstock.datapath.shape.plugins.tamed import LONGEST_DETAIL, tamed, writable
from penstock.model.bad_records import BadRecord
from penstock.model.convert_spec import ConvertSpec

_convert_spec_decoder = msgspec.json.Decoder(ConvertSpec)

CONVERT_FAILED = "CONVERT_FAILED"
PluginValue: TypeAlias = Any  # Any: a part of what a plug-in returned; every use may fail


class _Broken(Exception):
    """What a plug-in did that it may not do."""


def plugin(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    """Let a plug-in convert the rows."""
    name = spec.words[0]
    made = _made(msgspec.json.encode(spec))
    schema = named_schema(flow.fields)
    wanted = _output_schema(made, name, schema)
    types_in("plugin", wanted)  # or it is refused, before any record is looked at
    if not len(flow.rows):
        empty = [pa.array([], each.type) for each in wanted]
        return _with_columns(flow, wanted, empty)
    batch = _batch_of(flow.columns, schema, len(flow.rows))
    found = _converted(made, batch, wanted)
    bad = [
        BadRecord(int(flow.rows[row]), CONVERT_FAILED, writable(f"{name}: {why}")[:LONGEST_DETAIL])
        for row, why in found.bad
    ]
    kept = flow.rows[np.asarray(found.rows, np.int64)]
    gone = flow.rows[np.asarray(found.filtered, np.int64)]
    flow = replace(
        flow,
        rows=kept,
        bad=[*flow.bad, *bad],
        filtered=[*flow.filtered, gone] if len(gone) else flow.filtered,
    )
    return _with_columns(flow, wanted, found.batch.columns)


def _batch_of(columns: list[pa.Array], schema: pa.Schema, count: int) -> pa.RecordBatch:
    """A batch that has its rows also without any column."""
    if columns:
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    rows = pa.StructArray.from_buffers(pa.struct([]), count, [None])
    return pa.RecordBatch.from_struct_array(rows)


def _with_columns(flow: Flow, schema: pa.Schema, columns: list[pa.Array]) -> Flow:
    kinds = types_in("plugin", schema)
    made = [
        (each.name, kind, each.nullable, column)
        for each, kind, column in zip(schema, kinds, columns, strict=True)
    ]
    return flow.having("plugin", made)


def look_for(spec: ConvertSpec) -> None:
    """Make a plug-in with its options; raises a `PluginError`."""
    _made(msgspec.json.encode(spec))


@lru_cache(maxsize=64)
def _made(encoded: bytes) -> "_Records | BatchConverter":
    """A plug-in with its options, once per process."""
    spec = _convert_spec_decoder.decode(encoded)
    ref = spec.ref or offer(CONVERTERS, spec.words[0])
    return _of_a_kind(make(CONVERTERS, ref, **dict(zip(spec.paths, spec.constants, strict=True))))


def converted(plugin: RecordConverter | BatchConverter, batch: pa.RecordBatch) -> ConvertedBatch:
    """What a converter makes of a batch, as Penstock takes it."""
    return _converted(_of_a_kind(plugin), batch, plugin.output_schema(batch.schema))


def _converted(
    made: "_Records | BatchConverter", batch: pa.RecordBatch, wanted: pa.Schema
) -> ConvertedBatch:
    if isinstance(made, _Records):
        return made.convert(batch, wanted)
    return _batch(made, batch, wanted)


def _of_a_kind(made: RecordConverter | BatchConverter) -> "_Records | BatchConverter":
    """A plug-in as one that takes batches; one of both kinds does."""
    if callable(getattr(made, "convert_batch", None)):
        return cast("BatchConverter", made)
    return _Records(cast("RecordConverter", made))


def _guarded(name: str, call: Callable[[], object]) -> object:
    """What a plug-in says before any record is there; an error then stops the feed."""
    try:
        return call()
    except STOPS:
        raise
    except BaseException as error:
        raise ConvertImpossible("plugin", name, said(error)) from error


def _output_schema(made: "_Records | BatchConverter", name: str, schema: pa.Schema) -> pa.Schema:
    wanted = _guarded(name, lambda: made.output_schema(schema))
    if not isinstance(wanted, pa.Schema):
        raise ConvertImpossible("plugin", name, "its `output_schema` returns no pyarrow.Schema")
    return wanted


# --- plug-ins on batches -------------------------------------------------------------------------


def _batch(made: BatchConverter, batch: pa.RecordBatch, wanted: pa.Schema) -> ConvertedBatch:
    try:
        return _believed(made.convert_batch(batch), batch.num_rows, wanted)
    except STOPS:
        raise
    except _Broken as error:
        return _all_bad(range(batch.num_rows), str(error), wanted)
    except BaseException as error:  # noqa: BLE001  a plug-in may raise anything
        return _all_bad(range(batch.num_rows), tamed(error, batch.schema.names), wanted)


def _all_bad(rows: Sequence[int], why: str, wanted: pa.Schema) -> ConvertedBatch:
    empty = pa.RecordBatch.from_pylist([], schema=wanted)
    return ConvertedBatch(empty, (), (), [(row, why) for row in rows])


def _believed(found: object, count: int, wanted: pa.Schema) -> ConvertedBatch:
    """What a plug-in returned, as plain lists.

    Raises `_Broken` unless every record is named once and the columns are as declared.
    """
    if not isinstance(found, ConvertedBatch):
        raise _Broken("it returned no ConvertedBatch")
    batch = found.batch
    if not isinstance(batch, pa.RecordBatch):
        raise _Broken("the batch that it returned is not a RecordBatch")
    if batch.schema.names != wanted.names or batch.schema.types != wanted.types:
        raise _Broken("it returned other columns than it has declared")
    batch.validate(full=True)
    rows = [_row(each) for each in _listed(found.rows, count)]
    filtered = [_row(each) for each in _listed(found.filtered, count)]
    bad = [(_row(row), str(why)) for row, why in _listed(found.bad, count)]
    if wanted.names and batch.num_rows != len(rows):  # without columns, rows are easily forgotten
        raise _Broken(f"it returned {batch.num_rows} rows and named {len(rows)}")
    named = [*rows, *filtered, *(row for row, _ in bad)]
    if sorted(named) != list(range(count)):
        raise _Broken(f"it got {count} records and did not name each of them once")
    for each, column in zip(wanted, batch.columns, strict=True):
        if not each.nullable and column.null_count:
            raise _Broken(f"{each.name} is null, and was declared not to be")
    return ConvertedBatch(batch, rows, filtered, bad)


def _listed(some: PluginValue, count: int) -> list[PluginValue]:
    """What may be a generator, and one without an end; one more than there can be tells enough."""
    if isinstance(some, pa.Array | pa.ChunkedArray):
        some = some.to_pylist()
    return list(islice(some, count + 1))


def _row(value: PluginValue) -> int:
    if isinstance(value, bool):  # a mask, and no numbers
        raise _Broken("it named records by truth values, and not by their numbers")
    return index(value)


# --- plug-ins on records -------------------------------------------------------------------------


class _Records:
    """A plug-in on records as one on batches."""

    def __init__(self, made: RecordConverter) -> None:
        self._made = made

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """What the plug-in says."""
        return self._made.output_schema(schema)

    def convert(self, batch: pa.RecordBatch, wanted: pa.Schema) -> ConvertedBatch:
        """Convert the records one by one."""
        rows: list[int] = []
        filtered: list[int] = []
        bad: list[tuple[int, str]] = []
        records: list[dict[str, object]] = []
        read = record_reader(wanted)
        for row, record in enumerate(_records_in(batch)):
            try:
                if isinstance(record, _Broken):
                    raise record
                made = self._made.convert_record(record)
                if made is None:
                    filtered.append(row)
                    continue
                plain = read(made)
            except STOPS:
                raise
            except (_Broken, Unfit) as error:
                bad.append((row, str(error)))
            except BaseException as error:  # noqa: BLE001  a plug-in may raise anything
                bad.append((row, tamed(error, batch.schema.names, _record_at(batch, row))))
            else:
                rows.append(row)
                records.append(plain)
        columns = [pa.array([r[each.name] for r in records], each.type) for each in wanted]
        if not all(isinstance(column, pa.Array) for column in columns):  # but of several pieces
            bad += [(row, "it returned more than one column can hold") for row in rows]
            return replace(_all_bad((), "", wanted), filtered=filtered, bad=bad)
        made_batch = _batch_of(columns, wanted, len(rows))
        return ConvertedBatch(made_batch, rows, filtered, bad)


def _records_in(batch: pa.RecordBatch) -> list[dict[str, object] | _Broken]:
    """The records of a batch, and `_Broken` for those that Python cannot hold."""
    try:
        return [*batch.to_pylist()]
    except (ValueError, OverflowError):  # a time beyond the year 9999, for one
        return [_record_at(batch, row) for row in range(batch.num_rows)]


def _record_at(batch: pa.RecordBatch, row: int) -> dict[str, object] | _Broken:
    try:
        return batch.slice(row, 1).to_pylist()[0]
    except (ValueError, OverflowError) as error:
        return _Broken(f"it cannot be given the record: {tamed(error, ())}")
