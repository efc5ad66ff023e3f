"""A Thrift struct as a tree: which numbers mean what in the bytes of a record.

The driver makes the tree from the text of a file (`idl.fixed_struct`). It travels to executors as
JSON. Structs and enums refer to each other by their full names: a name alone for those of the file
itself, and `path:name` for those of a file that it includes.
"""

from functools import lru_cache
from typing import Literal

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.model.value import Value

ThriftKind = Literal[
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "double",
    "string",
    "binary",
    "uuid",
    "enum",
    "struct",
    "list",
    "set",
    "map",
]
Protocol = Literal["binary", "compact"]

LAST_NUMBER = 2**15 - 1
# What the bytes of a field say of its type. The binary protocol writes these numbers; the compact
# one has others, which mean the same (`FIELD_WIRES`, `ITEM_WIRES`).
STOP, BOOL, BYTE, DOUBLE, I16, I32, I64 = 0, 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST, UUID = 11, 12, 13, 14, 15, 16
NO_WIRE = 255  # no type at all
NOTHING = 254  # the value of a boolean field in the compact protocol, which has no bytes
MOST_ITEMS = 1024 * 1024  # of one record
MOST_LEVELS = 64  # of what an unknown field holds, one in the other, as in Thrift's own libraries
WIRES: dict[ThriftKind, int] = {
    "bool": BOOL,
    "i8": BYTE,
    "i16": I16,
    "i32": I32,
    "i64": I64,
    "double": DOUBLE,
    "string": STRING,
    "binary": STRING,
    "uuid": UUID,
    "enum": I32,
    "struct": STRUCT,
    "list": LIST,
    "set": SET,
    "map": MAP,
}
# By the four bits of the compact protocol, in front of a field and of items. A boolean field has
# its value there: 1 is true, 2 is false; of items both only say that they are booleans.
FIELD_WIRES = (
    STOP, NOTHING, NOTHING, BYTE, I16, I32, I64, DOUBLE, STRING, LIST, SET, MAP, STRUCT, UUID,
    NO_WIRE, NO_WIRE,
)  # fmt: skip
ITEM_WIRES = (
    NO_WIRE, BOOL, BOOL, BYTE, I16, I32, I64, DOUBLE, STRING, LIST, SET, MAP, STRUCT, UUID,
    NO_WIRE, NO_WIRE,
)  # fmt: skip


class ThriftType(Value, frozen=True, omit_defaults=True):
    """The type of a value. `name` is that of its struct or enum.

    `items` is the type of the items of a list or set, or of the keys and the values of a map.
    """

    kind: ThriftKind
    name: str = ""
    items: tuple["ThriftType", ...] = ()


class ThriftField(Value, frozen=True, omit_defaults=True):
    """A field of a struct. Without a `required` one the record is bad; others may be absent."""

    number: int
    name: str
    type: ThriftType
    required: bool = False


class ThriftStruct(Value, frozen=True, omit_defaults=True):
    """A struct, or an exception, or a union, of which only one field can be set."""

    name: str
    fields: tuple[ThriftField, ...]
    is_union: bool = False


class ThriftEnum(Value, frozen=True):
    """An enum: its numbers and their names as they were declared."""

    name: str
    values: tuple[tuple[int, str], ...]


class ThriftFile(Value, frozen=True):
    """The struct that a record is, all that it uses, and in which protocol records are written."""

    root: str
    protocol: Protocol
    structs: tuple[ThriftStruct, ...]
    enums: tuple[ThriftEnum, ...]


_thrift_file_decoder = msgspec.json.Decoder(ThriftFile)


class ThriftTypes:
    """Structs and enums by their full names."""

    def __init__(self, file: ThriftFile) -> None:
        self.root = file.root
        self.is_compact = file.protocol == "compact"
        self._structs = {struct.name: struct for struct in file.structs}
        self._enums = {enum.name: enum for enum in file.enums}
        for struct in file.structs:
            _check(struct)

    def struct(self, name: str, path: str) -> ThriftStruct:
        """A struct by its name."""
        if name not in self._structs:
            raise SchemaUnsupported(path, f"the struct {name} is not known")
        return self._structs[name]

    def enum(self, name: str, path: str) -> ThriftEnum:
        """An enum by its name."""
        if name not in self._enums or not self._enums[name].values:
            raise SchemaUnsupported(path, f"the enum {name} has no values")
        return self._enums[name]


@lru_cache(maxsize=512)
def parse_thrift(text: str) -> ThriftTypes:
    """The types of a schema that was made ready on the driver."""
    try:
        return ThriftTypes(_thrift_file_decoder.decode(text))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        if isinstance(error, SchemaUnsupported):
            raise
        raise SchemaUnsupported("$", f"it was not made ready for reading ({error})") from error


def _check(struct: ThriftStruct) -> None:
    """Refuse what cannot be told apart in bytes."""
    numbers = [field.number for field in struct.fields]
    names = {field.name for field in struct.fields}
    if len(set(numbers)) != len(numbers) or len(names) != len(numbers):
        raise SchemaUnsupported("$", f"two fields of {struct.name} have one number or name")
    if not all(1 <= number <= LAST_NUMBER for number in numbers):
        why = f"a field of {struct.name} has a number that is not of 1 to {LAST_NUMBER}"
        raise SchemaUnsupported("$", why)
