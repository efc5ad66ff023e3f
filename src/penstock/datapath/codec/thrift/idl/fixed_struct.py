"""The struct that the records of a feed are, made ready for executors. Driver.

Names are looked up here: those of a file itself, and those of files that it includes, which have
the name of the file in front, as "shared.Geo" is in "shared.thrift". An included file is looked for
beside the one that includes it, and then beside the configuration's own, as repositories do that
compile with one folder for all.
"""

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.thrift.idl.declarations import (
    Declarations,
    WrittenStruct,
    WrittenType,
    declarations_of,
)
from penstock.datapath.codec.thrift.idl.idl_tokens import idl_error
from penstock.datapath.codec.thrift.schema import columns_of_thrift
from penstock.datapath.codec.thrift.types import (
    Protocol,
    ThriftEnum,
    ThriftField,
    ThriftFile,
    ThriftStruct,
    ThriftType,
    parse_thrift,
)
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec

MOST_FILES = 200  # that a file includes, and those include
_MOST_NAMED = 10
_MOST_NAMES = 100_000  # that are looked up: typedefs of typedefs may double with each
_MOST_TYPEDEFS = 64  # one for the other
OWN = ""  # the path of the configuration's own file

Files = dict[str, str]
Read = Callable[[str], str | None]


def included_files(text: str, read: Read) -> tuple[tuple[str, str], ...]:
    """All files that a file includes, and those include: paths from its folder, and texts.

    `read` gives the text of a file by such a path, None if there is no such file.
    """
    found: Files = {}
    left = [(OWN, text)]
    while left:
        path, source = left.pop()
        for line, name in declarations_of(source, path).includes:
            place, inside = _first_of(path, line, name, found, read)
            if place not in found:
                found[place] = inside
                left.append((place, inside))
            if len(found) > MOST_FILES:
                raise idl_error(path, line, f"over {MOST_FILES} files are included")
    return tuple(sorted(found.items()))


def fixed_struct(decode: DecodeSpec) -> RegisteredSchema:
    """The struct of a configuration as a tree, which can become columns; or SchemaUnsupported."""
    return _of_files(
        decode.schema_text, decode.schema_includes, decode.message, decode.protocol or "binary"
    )


@lru_cache(maxsize=64)
def _of_files(
    text: str, includes: tuple[tuple[str, str], ...], message: str, protocol: Protocol
) -> RegisteredSchema:
    sources = {OWN: text, **dict(includes)}
    finder = _Finder({path: declarations_of(each, path) for path, each in sources.items()})
    try:
        root = finder.root(message)
    except RecursionError as error:
        raise SchemaUnsupported("$", "it nests too deep") from error
    tree = ThriftFile(root, protocol, tuple(finder.structs.values()), tuple(finder.enums.values()))
    found = RegisteredSchema("thrift", msgspec.json.encode(tree).decode())
    columns_of_thrift(parse_thrift(found.text))
    return found


def _places(path: str, name: str) -> list[str]:
    """Where a file may be that another one includes."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return [beside, posixpath.normpath(name)]


def _first_of(path: str, line: int, name: str, known: Files, read: Read) -> tuple[str, str]:
    """The first place at which there is a file, and its text."""
    if posixpath.isabs(name):
        raise idl_error(path, line, f"includes `{name}`; a path from this file is wanted")
    for place in _places(path, name):
        inside = known[place] if place in known else read(place)
        if inside is not None:
            return place, inside
    raise idl_error(path, line, f"includes `{name}`, and there is no such file")


@dataclass(slots=True)
class _Finder:
    """Looks up names in the declarations of all files, and keeps what it was asked for."""

    files: dict[str, Declarations]
    structs: dict[str, ThriftStruct] = field(default_factory=dict)
    enums: dict[str, ThriftEnum] = field(default_factory=dict)
    count: int = 0

    def root(self, message: str) -> str:
        """The full name of the struct that records are; all that it uses is found on the way."""
        declared = list(self.files[OWN].structs)
        known = ", ".join(declared[:_MOST_NAMED]) or "none"
        if not message and len(declared) != 1:
            raise SchemaUnsupported("$", f"`message` has to name one of its structs: {known}")
        wanted = WrittenType(0, name=message or declared[0])
        place, name = self._place_of(OWN, wanted)
        if name not in self.files[place].structs:
            raise SchemaUnsupported("$", f"there is no struct {message}; there are: {known}")
        return self._named(OWN, wanted, 0).name

    def _type(self, path: str, written: WrittenType, depth: int) -> ThriftType:
        if written.kind is None:
            return self._named(path, written, depth)
        items = tuple(self._type(path, each, depth) for each in written.items)
        return ThriftType(written.kind, items=items)

    def _named(self, path: str, written: WrittenType, depth: int) -> ThriftType:
        """What a name stands for."""
        self.count += 1
        if depth > _MOST_TYPEDEFS:
            raise idl_error(path, written.line, f"{written.name} stands for itself")
        if self.count > _MOST_NAMES:
            raise idl_error(path, written.line, f"over {_MOST_NAMES} types are named")
        place, name = self._place_of(path, written)
        there = self.files[place]
        full = f"{place}:{name}" if place else name
        if name in there.typedefs:
            return self._type(place, there.typedefs[name], depth + 1)
        if name in there.enums:
            self.enums[full] = ThriftEnum(full, there.enums[name].values)
            return ThriftType("enum", full)
        if name in there.structs:
            self._add_struct(place, full, there.structs[name])
            return ThriftType("struct", full)
        raise idl_error(path, written.line, f"there is no type {written.name}")

    def _add_struct(self, path: str, full: str, written: WrittenStruct) -> None:
        """A struct and all that it uses, once."""
        if full in self.structs:
            return
        is_union = written.is_union
        self.structs[full] = ThriftStruct(full, (), is_union)
        fields = tuple(
            ThriftField(
                each.number,
                each.name,
                self._type(path, each.type, 0),
                each.required and not is_union,
            )
            for each in written.fields
        )
        self.structs[full] = ThriftStruct(full, fields, is_union)

    def _place_of(self, path: str, written: WrittenType) -> tuple[str, str]:
        """The file that declares a name, and the name there."""
        prefix, _, name = written.name.rpartition(".")
        if not prefix:
            return path, name
        for _, included in self.files[path].includes:
            if posixpath.basename(included).rpartition(".")[0] == prefix:
                places = _places(path, included)
                return next(each for each in places if each in self.files), name
        raise idl_error(path, written.line, f"no file {prefix}.thrift is included")
