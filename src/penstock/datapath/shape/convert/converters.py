"""Converters: from the columns of an event to the columns that are kept.

Every step says what becomes of the fields, and does the same to whole columns; only plug-ins may
look at a record by itself. A value that a step cannot turn makes its record bad, alone; a row that
a filter does not let pass is counted as filtered. A step that names a field which is not there does
nothing. No path leads into a list or a map; a step that has to hide or take away a field there is
impossible, and the others find nothing. Drop, mask, hash and encrypt also mean fields that have
points in their own names: see `paths`.

    rename    another name for a field, at its place
    drop      the fields are gone
    keep      all other fields are gone
    cast      another type: text, whole number, fraction, truth value, decimal, day, time
    set       a field with one value for all rows, or with something of the record besides its
              fields, such as its event time; new or instead of an old one
    filter    rows that do not fulfil every condition are let go
    flatten   the fields inside a struct become fields beside it, `device.os` as `device_os`
    mask      texts are replaced by a fixed one, or all but the last characters of longer ones are
    hash      the value's text as HMAC-SHA-256, in hexadecimal digits: equal values stay equal
    encrypt   the value's text with AES-256-GCM, as bytes
    plugin    whatever a plug-in does
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.shape.convert.cast import cast
from penstock.datapath.shape.convert.conditions import as_texts, fulfils, fulfils_values, refusal_of
from penstock.datapath.shape.convert.encrypt import encrypt
from penstock.datapath.shape.convert.field_paths import names_of
from penstock.datapath.shape.convert.flow import (
    ConvertImpossible,
    Fields,
    Flow,
    Given,
    Made,
    Mask,
    Origin,
    as_struct,
    check_path,
    made_of,
)
from penstock.datapath.shape.convert.plugins import CONVERT_FAILED, plugin
from penstock.datapath.shape.convert.record_values import taken
from penstock.datapath.shape.convert.rest_column import Rest
from penstock.model.arrow_types import arrow_type
from penstock.model.convert_spec import Constant, ConvertSpec
from penstock.model.encryption_keys import Keys
from penstock.model.schema import BOOLEAN, DOUBLE, INT64, STRING, Field, FieldType
from penstock.model.schema_merging import Incompatible, merged

_MASK = "***"


def convert(
    steps: Sequence[ConvertSpec],
    fields: Fields,
    columns: list[pa.Array],
    given: Given,
    rest: pa.Array | None = None,
) -> Flow:
    """Lead the rows of a batch through all steps.

    The columns are those of the fields, and there are as many rows as offsets are given.
    """
    flow = Flow(fields, columns, np.arange(len(given.origin.offsets)), Rest(rest))
    for spec in steps:
        flow = _STEPS[spec.verb](flow, spec, given)
    return flow


def converted_fields(steps: Sequence[ConvertSpec], fields: Fields, given: Given) -> Fields:
    """What becomes of the fields of a dataset; raises `ConvertImpossible`."""
    empty = [pa.array([], arrow_type(each.type)) for each in fields]
    return convert(steps, fields, empty, replace(given, origin=Origin())).fields


def fitting(steps: Sequence[ConvertSpec], fields: Fields, keys: Keys, in_files: Fields) -> Given:
    """What steps are given so that they make the columns that files have, where there is a choice.

    A null could be of any type. It is of the one that its field has, so that files which have such
    a column can take it; but files whose column was made by such a null alone have texts there.
    The answer is the same before and after the columns have joined those of the files.
    """
    given, text = Given(keys), Given(keys, null_is_text=True)
    if not any(spec.sets_null for spec in steps):
        return given
    try:
        merged(in_files, converted_fields(steps, fields, given))
    except (ConvertImpossible, Incompatible):
        return text
    return given


def _rename(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    for path, name in zip(spec.paths, spec.words, strict=True):
        flow = flow.changed(
            "rename",
            path,
            lambda f, c, n=name: [(n, f.type, f.nullable, c)],  # type: ignore[misc]
        )
    flow.rest.follow(spec)
    return flow


def _drop(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    for path in spec.paths:
        flow = _dropped_from_rest(flow, "drop", path)
        flow = flow.changed("drop", path, lambda _field, _column: [])
    return flow


def _dropped_from_rest(flow: Flow, verb: str, path: str) -> Flow:
    blocked = _among(flow, flow.rest.rows_blocked(path))
    flow.rest.drop(path)
    return flow.refusing(blocked, CONVERT_FAILED, f"$.{path}: nothing to {verb} it from")


def _among(flow: Flow, rows: list[int]) -> Mask:
    """A mask of the rows of a flow that are some of the batch."""
    return np.isin(flow.rows, rows) if rows else np.zeros(len(flow.rows), dtype=bool)


def _keep(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    for path in spec.paths:
        check_path("keep", names_of(path), flow.fields)
        listed = _among(flow, flow.rest.rows_listed(path))
        flow = flow.refusing(listed, CONVERT_FAILED, f"$.{path}: it lies in a list")
    flow.rest.keep(spec.paths)
    return flow.having("keep", _only_wanted(flow.made(), [path.split(".") for path in spec.paths]))


def _only_wanted(made: Made, wanted: list[list[str]]) -> Made:
    kept: Made = []
    for name, kind, null, column in made:
        inner = [names[1:] for names in wanted if names[0] == name]
        if any(not names for names in inner):
            kept.append((name, kind, null, column))
        elif inner and kind.kind == "struct":
            inside = _only_wanted(made_of(kind.fields, column.flatten()), inner)
            kept += as_struct("keep", Field(name, name, kind, null), column, inside)
    return kept


def _set(flow: Flow, spec: ConvertSpec, given: Given) -> Flow:
    for name, value, from_record in spec.settings:
        flow = _dropped_from_rest(flow, "set", name)
        if from_record is None:
            kind, column = _constant(flow.at(name), value, len(flow.rows), given)
        else:
            found = taken(name, from_record, given.origin, flow.rows)
            kind, column = found.type, found.column
            flow = flow.refusing(~found.good, *found.refusal)
        entry = (name, kind, True, column)  # null where a record without a value is kept
        if flow.at(name) is not None:
            flow = flow.changed("set", name, lambda _f, _c, e=entry: [e])  # type: ignore[misc]
        else:
            flow = flow.having("set", [*flow.made(), entry])
    return flow


def _constant(
    before: tuple[Field, pa.Array] | None, value: Constant, count: int, given: Given
) -> tuple[FieldType, pa.Array]:
    """One value for all rows. Null has the type that the field had before."""
    is_typed = before is not None and value is None and not given.null_is_text
    kind = before[0].type if before is not None and is_typed else _kind_of(value)
    nulls = pa.nulls(count, arrow_type(kind))
    return kind, nulls if value is None else pa.repeat(pa.scalar(value, nulls.type), count)


def _kind_of(value: object) -> FieldType:
    for python, kind in ((bool, BOOLEAN), (int, INT64), (float, DOUBLE)):
        if isinstance(value, python):
            return kind
    return STRING


def _flatten(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    def change(each: Field, column: pa.Array) -> Made:
        if each.type.kind != "struct":
            raise ConvertImpossible("flatten", each.name, f"it is a {each.type.kind}")
        pairs = zip(each.type.fields, column.flatten(), strict=True)
        return [(f"{each.name}_{f.name}", f.type, f.nullable or each.nullable, c) for f, c in pairs]

    for path in spec.paths:
        flow = flow.changed("flatten", path, change)
    flow.rest.follow(spec)
    return flow


def _visible(flow: Flow, verb: str, path: str) -> Flow:
    """The rows whose value has a column; in the others it could be seen in `_rest`."""
    seen = _among(flow, flow.rest.rows_with(path))
    return flow.refusing(seen, CONVERT_FAILED, f"$.{path}: no column yet to {verb} it in")


def _mask(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    for path, word in zip(spec.paths, spec.words, strict=True):

        def change(each: Field, column: pa.Array, shown: int = int(word or 0)) -> Made:
            texts = _texts("mask", each, column)
            rest = pc.utf8_slice_codeunits(texts, -shown, 2**31 - 1) if shown else texts
            is_longer = pc.greater(pc.utf8_length(texts), shown or 2**31 - 1)
            masked = pc.if_else(is_longer, pc.binary_join_element_wise(_MASK, rest, ""), _MASK)
            hidden = pc.if_else(texts.is_null(), pa.scalar(None, pa.string()), masked)
            return [(each.name, STRING, each.nullable, hidden)]

        flow = _visible(flow, "mask", path).changed("mask", path, change)
    return flow


def _hash(flow: Flow, spec: ConvertSpec, given: Given) -> Flow:
    for path, reference in zip(spec.paths, spec.words, strict=True):

        def change(
            each: Field, column: pa.Array, key: bytes = given.keys.reveal("hash", reference)
        ) -> Made:
            texts = _texts("hash", each, column).dictionary_encode()
            known = [
                hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
                for text in texts.dictionary.to_pylist()
            ]
            found = pa.array(known, pa.string()).take(texts.indices)
            return [(each.name, STRING, each.nullable, found)]

        flow = _visible(flow, "hash", path).changed("hash", path, change)
    return flow


def _texts(verb: str, each: Field, column: pa.Array) -> pa.Array:
    texts = as_texts(column)
    if texts is None:
        raise ConvertImpossible(verb, each.name, f"it is a {each.type.kind}")
    return texts


def _encrypt(flow: Flow, spec: ConvertSpec, given: Given) -> Flow:
    for path in spec.paths:
        flow = _visible(flow, "encrypt", path)
    return encrypt(flow, spec, given)


def _filter(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    good = np.ones(len(flow.rows), dtype=bool)
    for condition in spec.conditions:
        found = flow.at(condition.path)
        column = pa.nulls(len(flow.rows)) if found is None else found[1]
        refusal = refusal_of(condition.fits) if condition.fits else ""
        if refusal:
            why = f"RE2 does not take this expression: {refusal}"
            raise ConvertImpossible("filter", condition.path, why)
        mine = fulfils(column, condition)
        values = flow.rest.values(condition.path)
        # A field that was given a name which the event has, too, is the one that counts.
        empty = column.is_null().to_numpy(zero_copy_only=False)
        for place in np.flatnonzero(_among(flow, list(values)) & empty):
            mine[place] = fulfils_values([values[int(flow.rows[place])]], condition)[0]
        good &= mine
    return flow.without(~good)


_STEPS: dict[str, Callable[[Flow, ConvertSpec, Given], Flow]] = {
    "rename": _rename,
    "drop": _drop,
    "keep": _keep,
    "cast": cast,
    "set": _set,
    "filter": _filter,
    "flatten": _flatten,
    "mask": _mask,
    "hash": _hash,
    "encrypt": _encrypt,
    "plugin": plugin,
}
