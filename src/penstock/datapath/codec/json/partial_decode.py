"""A look at a few fields of every record, without decoding the rest.

One compiled call per record: the parser is given a struct that has only the wanted paths, and
skips everything else. What it cannot judge alone goes record by record.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import TypeAlias

import msgspec
import pyarrow as pa

from penstock.datapath.codec.json.decode_plan import may_be_renamed
from penstock.datapath.codec.json.payload import PARSER_ERRORS, Screen, fault_of, refuse
from penstock.datapath.codec.json.value_text import kind_of, members_of
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.value_types import ParsedRecord, ParserType
from penstock.model.bad_records import BadRecord

_CHUNK = 1_024
Branches: TypeAlias = dict[str, "Branches"]  # names of fields, with those below each
_SCALAR: ParserType = str | int | float | bool | None
_LEAF = msgspec.json.Decoder(_SCALAR)


class Marker(Enum):
    """Stands where a field is present and holds nothing that could be used as one value."""

    NOT_SCALAR = "NOT_SCALAR"


NOT_SCALAR = Marker.NOT_SCALAR


@dataclass(frozen=True, slots=True)
class PartialFields:
    """What a look gave: per path one value per record in their order, and the bad records.

    A field that is absent or null is None, and so is every field of a bad record; an array, an
    object or a number beyond all bounds is NOT_SCALAR.
    """

    fields: list[list[object | None]]
    bad: list[BadRecord]


@dataclass(frozen=True, slots=True, eq=False)
class _PathParser:
    """Paths compiled for looking: a parser, and per path the attributes that lead to its value."""

    decode: Callable[[bytes], ParsedRecord]
    attributes: tuple[tuple[str, ...], ...]
    nothing: ParsedRecord


def partial_decode(values: pa.Array, paths: tuple[str, ...], limits: Limits) -> PartialFields:
    """Look at each record; bad ones never affect their neighbours."""
    parser = _path_parser(paths)
    doubtful = Screen(values, limits).suspects()
    partial = PartialFields([[] for _ in paths], [])
    for start in range(0, len(values), _CHUNK):
        _decode_chunk(parser, values.slice(start, _CHUNK).to_pylist(), start, doubtful, partial)
    _decode_doubtful(values, paths, limits, partial, doubtful)
    return partial


def _decode_chunk(
    parser: _PathParser,
    payloads: list[bytes],
    start: int,
    doubtful: set[int],
    partial: PartialFields,
) -> None:
    """Parse one chunk; a record that cannot be parsed is doubtful and gets a placeholder."""
    decode = parser.decode
    found: list[ParsedRecord] = []
    keep = found.append
    for payload in payloads:
        try:
            keep(decode(payload))
        except PARSER_ERRORS:
            doubtful.add(start + len(found))
            keep(parser.nothing)
    for column, attributes in zip(partial.fields, parser.attributes, strict=True):
        column.extend(_along(attributes, found))


def _along(attributes: tuple[str, ...], found: list[ParsedRecord]) -> list[ParsedRecord]:
    """Follow attributes from every object; nothing leads to nothing."""
    reached = list(map(attrgetter(attributes[0]), found))
    for attribute in attributes[1:]:
        get = attrgetter(attribute)
        reached = [None if each is None else get(each) for each in reached]
    return reached


def _decode_doubtful(
    values: pa.Array,
    paths: tuple[str, ...],
    limits: Limits,
    partial: PartialFields,
    doubtful: set[int],
) -> None:
    """Judge the doubtful records one by one, in order."""
    for index in sorted(doubtful):
        payload = values[index].as_py()
        fault = fault_of(payload, limits)
        if fault is not None:
            partial.bad.append(BadRecord(index, *fault))
        for column, path in zip(partial.fields, paths, strict=True):
            column[index] = None if fault else value_at(payload, path)


def value_at(payload: bytes, path: str) -> object | None:
    """The reference: the value at a dotted path of a payload that is one JSON object."""
    return value_at_text(payload.strip(b" \t\r\n"), tuple(path.split(".")))


def value_at_text(text: bytes, names: tuple[str, ...]) -> object | None:
    """The value that names lead to, from a value that is known by its text."""
    for name in names:
        if kind_of(text) != "object":
            return None
        text = bytes(members_of(text).get(name, b"null"))
    try:
        value: object = _LEAF.decode(text)
    except msgspec.ValidationError:
        return NOT_SCALAR
    return value


@lru_cache(maxsize=64)
def _path_parser(paths: tuple[str, ...]) -> _PathParser:
    """Compile paths into one struct.

    Where one path leads through another, or a name cannot be given to the parser, every record
    is looked at alone.
    """
    split = [tuple(path.split(".")) for path in paths]
    through = {names[:length] for names in split for length in range(1, len(names))}
    plain = all(may_be_renamed(name) for names in split for name in names)
    if not plain or not through.isdisjoint(split):
        nothing = msgspec.defstruct("Nothing", [("f0", _SCALAR, None)])()
        return _PathParser(refuse, tuple(("f0",) for _ in paths), nothing)
    branches: Branches = {}
    for names in split:
        branch = branches
        for name in names:
            branch = branch.setdefault(name, {})
    struct = _struct(branches)
    return _PathParser(
        msgspec.json.Decoder(struct).decode,
        tuple(_attributes(branches, names) for names in split),
        struct(),
    )


def _struct(branches: Branches) -> type[msgspec.Struct]:
    """The struct for one level of paths; names without branches are leaves."""
    fields: list[tuple[str, ParserType, None]] = []
    for number, below in enumerate(branches.values()):
        kind: ParserType = _struct(below) | None if below else _SCALAR
        fields.append((f"f{number}", kind, None))
    names = {f"f{number}": name for number, name in enumerate(branches)}
    return msgspec.defstruct("PartialRecord", fields, rename=names, gc=False)


def _attributes(branches: Branches, names: tuple[str, ...]) -> tuple[str, ...]:
    """The attributes that lead to a path's value."""
    found = []
    for name in names:
        found.append(f"f{list(branches).index(name)}")
        branches = branches[name]
    return tuple(found)
