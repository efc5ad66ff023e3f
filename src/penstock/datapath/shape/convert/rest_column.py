"""What becomes of `_rest` while fields are converted.

`_rest` holds, as JSON, what a record has and its dataset has no column for: a field that is new, or
a value of another kind. It keeps the shape and the names of the event. But what a step takes away
must not stay there, and what a step hides must not be seen there:

    drop, set              the fields are taken out of it, too; a record is bad if a text or a list
                           lies where an object was meant to hold such a field
    keep                   the others are taken out of it, too; a record is bad if a list lies where
                           an object was meant to hold such a field
    filter                 a value that lies there is judged like one that has a column
    mask, hash, encrypt    a record whose value lies there is bad. The driver learns a column for it
                           and lets the window be read again, unless the value fits in none
    the other steps        leave it as it is
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.convert.field_paths import HIDING, Names, names_of, spellings
from penstock.model.convert_spec import ConvertSpec

Scalar = str | int | float | bool | None
_SCALAR: Any = Scalar  # Any: to the parser, a union is a value that has no type of its own
_level = msgspec.json.Decoder(dict[str, msgspec.Raw])
_leaf = msgspec.json.Decoder(_SCALAR)
_UNREADABLE = (msgspec.MsgspecError, RecursionError)
Raw = bytes | msgspec.Raw
NOT_SCALAR = ()  # stands for an object, a list or a number beyond all bounds
_RENAMING = frozenset({"rename", "flatten"})


class Rest:
    """The rests of a batch by row. Changes in place: it belongs to one chain and one batch."""

    def __init__(self, texts: pa.Array | None) -> None:
        self._changed = False
        self._column = texts
        self._renaming: list[ConvertSpec] = []

    @cached_property
    def _texts(self) -> dict[int, bytes]:
        """The texts by row, for the first step that asks."""
        column = self._column
        if column is None or column.null_count == len(column):
            return {}
        rows = column.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
        texts = column.take(pa.array(rows)).to_pylist()
        return {int(row): text.encode() for row, text in zip(rows, texts, strict=True)}

    def column(self, rows: NDArray[np.int64]) -> pa.Array:
        """The column for some rows, in their order, which a plug-in may have changed."""
        if self._column is None:
            return pa.nulls(len(rows), pa.string())
        if not self._changed:
            are_all = np.array_equal(rows, np.arange(len(self._column)))
            return self._column if are_all else self._column.take(pa.array(rows, pa.int64()))
        texts = [self._texts.get(int(row)) for row in rows]
        return pa.array([None if text is None else text.decode() for text in texts], pa.string())

    def follow(self, spec: ConvertSpec) -> None:
        """Remember a step that gives fields other names: the event's own are those in here."""
        self._renaming.append(spec)

    def values(self, path: str) -> dict[int, Scalar | tuple[()]]:
        """The values at a path, by row. Where another value is in the way, that one.

        An object, a list or a number beyond all bounds is NOT_SCALAR.
        """
        found = self._found(self._origins([names_of(path)]))
        return {row: _scalar(raw) for row, raw in found.items()}

    def rows_with(self, path: str) -> list[int]:
        """The rows that hold something at a path; in the others nothing can be read there.

        A key may be there twice. The last one counts, and may be null: then the others go.
        """
        paths = self._origins(spellings("mask", path))
        found = self._found(paths)
        for names in paths:
            for row, text in list(self._texts.items()):
                if row not in found:
                    self._put(row, text, _with_single_keys(text, names))
        return list(found)

    def rows_blocked(self, path: str) -> list[int]:
        """The rows that hold a text or a list on the way to a path, where an object was meant."""
        paths = self._origins(spellings("drop", path))
        return [row for row, text in self._texts.items() if any(_blocked(text, p) for p in paths)]

    def rows_listed(self, path: str) -> list[int]:
        """The rows that hold a list with values on the way to a path."""
        paths = self._origins([names_of(path)])
        return [row for row, text in self._texts.items() if any(_listed(text, p) for p in paths)]

    def drop(self, path: str) -> None:
        """Take a field out of all rests."""
        for names in self._origins(spellings("drop", path)):
            for row, text in list(self._texts.items()):
                self._put(row, text, _without(text, names))

    def keep(self, paths: Iterable[str]) -> None:
        """Take all other fields out of all rests."""
        wanted = list(self._origins(map(names_of, paths)))
        for row, text in list(self._texts.items()):
            self._put(row, text, _only(text, wanted))

    def _put(self, row: int, before: bytes, after: Raw | None) -> None:
        if after is None:
            del self._texts[row]
            self._changed = True
        elif bytes(after) != before:
            self._texts[row] = bytes(after)
            self._changed = True

    def _found(self, paths: Iterable[Names]) -> dict[int, Raw]:
        found: dict[int, Raw] = {}
        for names in paths:
            for row, text in self._texts.items():
                raw = _at(text, names)
                if raw is not None:
                    found[row] = raw
        return found

    def _origins(self, paths: Iterable[Names]) -> set[Names]:
        """What events may call some fields; nothing, where there is nothing to look at."""
        return _origins(self._renaming, paths) if self._texts else set()


def hidden_paths(steps: Sequence[ConvertSpec], verbs: Container[str] = HIDING) -> set[Names]:
    """What events may call the fields that some steps hide."""
    found: set[Names] = set()
    for number, spec in enumerate(steps):
        if spec.verb in verbs:
            before = [each for each in steps[:number] if each.verb in _RENAMING]
            for path in spec.paths:
                found |= _origins(before, spellings(spec.verb, path))
    return found


def _origins(renaming: Sequence[ConvertSpec], paths: Iterable[Names]) -> set[Names]:
    """What the event may call the fields at paths; nothing, where no field can have one any more.

    A step is done pair after pair, each on what the one before it has left; so it is undone from
    the last pair to the first.
    """
    found = set(paths)
    for spec in reversed(renaming):
        for place in reversed(range(len(spec.paths))):
            found = {before for each in found for before in _before(spec, place, each)}
    return found


def _before(spec: ConvertSpec, place: int, path: Names) -> Iterator[Names]:
    """What a path may have been called before one pair of a step.

    That is the name which the step has taken away, or the path itself: the step does nothing where
    its field is not there, and an event may have the new name already.
    """
    old = names_of(spec.paths[place])
    depth = len(old) - 1
    if spec.verb == "flatten":
        beginning = f"{old[-1]}_"
        if len(path) > depth and path[:depth] == old[:-1] and path[depth].startswith(beginning):
            yield (*old, path[depth][len(beginning) :], *path[depth + 1 :])
    else:
        now = (*old[:-1], spec.words[place])
        if _is_within(path, now):
            yield (*old, *path[len(now) :])
    if not _is_within(path, old):
        yield path


def _is_within(path: Names, outer: Names) -> bool:
    return path[: len(outer)] == outer


def _inside(raw: Raw) -> dict[str, msgspec.Raw] | None:
    """The fields of an object; None for any other value."""
    try:
        return _level.decode(raw)
    except _UNREADABLE:
        return None


def _scalar(raw: Raw) -> Scalar | tuple[()]:
    try:
        found: Scalar = _leaf.decode(raw)
    except _UNREADABLE:
        return NOT_SCALAR
    return found


def _at(raw: Raw, names: Names) -> Raw | None:
    """What lies at a path, or in its way; None where that is nothing, or null."""
    for name in names:
        fields = _inside(raw)
        if fields is None:
            break  # a text or a list where an object was meant: it may hold what is looked for
        if name not in fields:
            return None
        raw = fields[name]
    return None if _is_null(raw) else raw


def _with_single_keys(raw: Raw, names: Names) -> Raw:
    """The same, with each key once in all objects on the way to a path."""
    fields = _inside(raw) if names else None
    if fields is None or names[0] not in fields:
        return raw
    fields[names[0]] = msgspec.Raw(bytes(_with_single_keys(fields[names[0]], names[1:])))
    return msgspec.json.encode(fields)


def _blocked(raw: Raw, names: Names) -> bool:
    for name in names:
        fields = _inside(raw)
        if fields is None:
            return not _is_null(raw)
        if name not in fields:
            return False
        raw = fields[name]
    return False


def _listed(raw: Raw, names: Names) -> bool:
    for name in names:
        fields = _inside(raw)
        if fields is None:
            return bytes(raw).lstrip().startswith(b"[") and bytes(raw).strip(b"[] \t\r\n") != b""
        if name not in fields:
            return False
        raw = fields[name]
    return False


def _is_null(raw: Raw) -> bool:
    return bytes(raw).strip() == b"null"


def _without(raw: Raw, names: Names) -> Raw | None:
    fields = _inside(raw)
    if fields is None:
        return raw
    if names[0] not in fields:
        return raw
    left = _without(fields[names[0]], names[1:]) if len(names) > 1 else None
    return _joined(fields, names[0], left)


def _joined(fields: dict[str, msgspec.Raw], name: str, value: Raw | None) -> Raw | None:
    if value is None:
        del fields[name]
    else:
        fields[name] = msgspec.Raw(bytes(value))
    return msgspec.json.encode(fields) if fields else None


def _only(raw: Raw, wanted: list[Names]) -> Raw | None:
    if any(not names for names in wanted):
        return raw
    fields = _inside(raw)
    if fields is None:
        return None
    kept: dict[str, msgspec.Raw] = {}
    for name, value in fields.items():
        inner = [names[1:] for names in wanted if names[0] == name]
        left = _only(value, inner) if inner else None
        if left is not None:
            kept[name] = msgspec.Raw(bytes(left))
    return msgspec.json.encode(kept) if kept else None
