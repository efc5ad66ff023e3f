"""Plug-ins that convert: found by name, called with care, and never believed.

Whatever a plug-in does, each record that went in comes out once: converted, filtered or bad. One
that breaks its promise, or raises an error, makes the records bad that it was given.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.model.convert import ConvertSpec
from penstock.model.converter import GROUP, BatchConverter, ConvertedBatch, RecordConverter
from penstock.model.rows import BadRecord
from penstock.shape.arrow_fields import named_schema, types_in
from penstock.shape.flow import ConvertImpossible, Flow, Given
from penstock.shape.plugin_values import Unfit, record_reader

CONVERT_FAILED = "CONVERT_FAILED"
_LONGEST_DETAIL = 200
_RECOGNISED = 4
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class PluginMissing(ConvertImpossible):
    """No installed package offers a converter of this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        found = f"there are: {', '.join(known)}" if known else "there are none at all"
        super().__init__("plugin", name, f"no installed package offers it; {found}")
        self.known = tuple(known)


class _Broken(Exception):
    """What a plug-in did that it may not do."""


def plugin(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    """Let a plug-in convert the rows."""
    made = _made(msgspec.json.encode(spec))
    schema = named_schema(flow.fields)
    wanted = _output_schema(made, spec.words[0], schema)
    types_in("plugin", wanted)  # or it is refused, before any record is looked at
    if not len(flow.rows):
        empty = [pa.array([], each.type) for each in wanted]
        return _with_columns(flow, wanted, empty)
    batch = pa.RecordBatch.from_arrays(flow.columns, schema=schema)
    by_record = isinstance(made, _Records)
    found = made.convert(batch, wanted) if by_record else _batch(made, batch, wanted)
    bad = [
        BadRecord(int(flow.rows[row]), CONVERT_FAILED, f"{spec.words[0]}: {why}"[:_LONGEST_DETAIL])
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


def _with_columns(flow: Flow, schema: pa.Schema, columns: list[pa.Array]) -> Flow:
    kinds = types_in("plugin", schema)
    made = [
        (each.name, kind, each.nullable, column)
        for each, kind, column in zip(schema, kinds, columns, strict=True)
    ]
    return flow.having("plugin", made)


def look_for(spec: ConvertSpec) -> None:
    """Make a plug-in with its options; raises `PluginMissing` or `ConvertImpossible`."""
    _made(msgspec.json.encode(spec))


def installed() -> tuple[str, ...]:
    """The names of the converters that installed packages offer."""
    return tuple(sorted({each.name for each in entry_points(group=GROUP)}))


@lru_cache(maxsize=64)
def _made(encoded: bytes) -> Any:
    """A plug-in with its options, once per process."""
    spec = msgspec.json.decode(encoded, type=ConvertSpec)
    name = spec.words[0]
    options = dict(zip(spec.paths, spec.constants, strict=True))
    found: list[EntryPoint] = list(entry_points(group=GROUP, name=name))
    if not found:
        raise PluginMissing(name, installed())
    if len({each.value for each in found}) > 1:
        raise ConvertImpossible("plugin", name, "several installed packages offer one of this name")
    made = _guarded(name, lambda: found[0].load()(**options))
    if callable(getattr(made, "convert_batch", None)):
        return made
    if callable(getattr(made, "convert_record", None)):
        return _Records(made)
    why = f"{found[0].value} has neither `convert_record` nor `convert_batch`"
    raise ConvertImpossible("plugin", name, why)


def _guarded(name: str, call: Callable[[], Any]) -> Any:
    """What a plug-in says before any record is there; an error then stops the feed."""
    try:
        return call()
    except Exception as error:
        raise ConvertImpossible("plugin", name, _said(error)) from error


def _output_schema(made: Any, name: str, schema: pa.Schema) -> pa.Schema:
    wanted = _guarded(name, lambda: made.output_schema(schema))
    if not isinstance(wanted, pa.Schema):
        raise ConvertImpossible("plugin", name, "its `output_schema` returns no pyarrow.Schema")
    return wanted


def _said(error: Exception) -> str:
    """An error in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:_LONGEST_DETAIL]


def _tamed(error: Exception, names: Container[str], record: Any = None) -> str:
    """An error in one line, without what it quotes from records; names of fields may stay."""

    def keep(match: re.Match[str]) -> str:
        return match[0] if match[0][1:-1] in names else "'***'"

    words = _QUOTED.sub(keep, " ".join(str(error).split()))
    for text in sorted(set(_texts_in(record)), key=len, reverse=True):
        words = words.replace(text, "***")
    return f"{type(error).__name__}: {words}"[:_LONGEST_DETAIL]


def _texts_in(value: Any) -> Iterator[str]:
    """The texts of a record that would be recognised; short ones are parts of any sentence."""
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)
    elif isinstance(value, str) and len(value) >= _RECOGNISED:
        yield value


# --- plug-ins on batches -------------------------------------------------------------------------


def _batch(made: BatchConverter, batch: pa.RecordBatch, wanted: pa.Schema) -> ConvertedBatch:
    try:
        found = made.convert_batch(batch)
        _check(found, batch.num_rows, wanted)
        return found
    except Exception as error:  # noqa: BLE001  a plug-in may raise anything
        names = batch.schema.names
        why = str(error) if isinstance(error, _Broken) else _tamed(error, names)
        empty = pa.RecordBatch.from_pylist([], schema=wanted)
        return ConvertedBatch(empty, (), (), [(row, why) for row in range(batch.num_rows)])


def _check(found: Any, count: int, wanted: pa.Schema) -> None:
    """Raise `_Broken` unless every record is named once and the columns are as declared."""
    if not isinstance(found, ConvertedBatch):
        raise _Broken("it returned no ConvertedBatch")
    have = found.batch.schema
    if have.names != wanted.names or have.types != wanted.types:
        raise _Broken("it returned other columns than it has declared")
    found.batch.validate()
    if found.batch.num_rows != len(found.rows):
        raise _Broken(f"it returned {found.batch.num_rows} rows and named {len(found.rows)}")
    named = [*map(int, found.rows), *map(int, found.filtered), *(int(row) for row, _ in found.bad)]
    if sorted(named) != list(range(count)):
        raise _Broken(f"it got {count} records and did not name each of them once")
    for each, column in zip(wanted, found.batch.columns, strict=True):
        if not each.nullable and column.null_count:
            raise _Broken(f"{each.name} is null, and was declared not to be")


# --- plug-ins on records -------------------------------------------------------------------------


class _Records:
    """A plug-in on records as one on batches."""

    def __init__(self, made: RecordConverter) -> None:
        self._made = made
        self.output_schema = made.output_schema

    def convert(self, batch: pa.RecordBatch, wanted: pa.Schema) -> ConvertedBatch:
        """Convert the records one by one."""
        rows: list[int] = []
        filtered: list[int] = []
        bad: list[tuple[int, str]] = []
        records: list[dict[str, Any]] = []
        originals = batch.to_struct_array()
        read = record_reader(wanted)
        for row, record in enumerate(batch.to_pylist()):
            try:
                made = self._made.convert_record(record)
                if made is None:
                    filtered.append(row)
                    continue
                plain = read(made)
            except Unfit as error:
                bad.append((row, str(error)))
            except Exception as error:  # noqa: BLE001  a plug-in may raise anything
                bad.append((row, _tamed(error, batch.schema.names, originals[row].as_py())))
            else:
                rows.append(row)
                records.append(plain)
        columns = [pa.array([r[each.name] for r in records], each.type) for each in wanted]
        made_batch = pa.RecordBatch.from_arrays(columns, schema=wanted)
        return ConvertedBatch(made_batch, rows, filtered, bad)
