"""A Protobuf schema as a tree: which numbers mean what in the bytes of a message.

The driver makes the tree from the text of a schema (`schema_compiler.compiler`). It travels to
executors as JSON, so these need no Protobuf library. Messages and enums refer to each other by
their full names.
"""

from functools import lru_cache
from typing import Literal

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.model.value import Value

ProtoKind = Literal[
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "float",
    "double",
    "bool",
    "string",
    "bytes",
    "enum",
    "message",
    "group",
]
ProtoLabel = Literal["implicit", "explicit", "required", "repeated", "map"]

LAST_NUMBER = 2**29 - 1
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5
GROUP, GROUP_END = 3, 4
_WIRES = {
    "fixed32": FOUR_BYTES,
    "sfixed32": FOUR_BYTES,
    "float": FOUR_BYTES,
    "fixed64": EIGHT_BYTES,
    "sfixed64": EIGHT_BYTES,
    "double": EIGHT_BYTES,
    "string": LENGTH,
    "bytes": LENGTH,
    "message": LENGTH,
}


class ProtoField(Value, frozen=True, omit_defaults=True):
    """A field of a message.

    `label` says what its absence means: `implicit` the default value, `explicit` that there is
    none, `required` that the message is bad. A `map` is a repeated message of a key and a value.
    `type` is the full name of its message or enum, `oneof` that of the group of fields of which
    only one can be set.
    """

    number: int
    name: str
    kind: ProtoKind
    label: ProtoLabel
    packed: bool = False
    type: str = ""
    oneof: str = ""

    @property
    def wire(self) -> int:
        """How a single value is written: the lowest three bits of its tag."""
        return _WIRES.get(self.kind, VARINT)


class ProtoMessage(Value, frozen=True, omit_defaults=True):
    """A message: its fields as they were declared, and the messages declared inside it.

    `refused` says why it cannot become columns, if so.
    """

    name: str
    fields: tuple[ProtoField, ...]
    nested: tuple[str, ...] = ()
    refused: str = ""


class ProtoEnum(Value, frozen=True):
    """An enum: its numbers and their names as they were declared. The first is the default."""

    name: str
    values: tuple[tuple[int, str], ...]


class ProtoFile(Value, frozen=True):
    """What one schema declares, `roots` at its top level, and all that these use."""

    roots: tuple[str, ...]
    messages: tuple[ProtoMessage, ...]
    enums: tuple[ProtoEnum, ...]


_proto_file_decoder = msgspec.json.Decoder(ProtoFile)


class ProtoTypes:
    """Messages and enums by their full names."""

    def __init__(self, file: ProtoFile) -> None:
        self._roots = file.roots
        self._messages = {message.name: message for message in file.messages}
        self._enums = {enum.name: enum for enum in file.enums}
        for message in file.messages:
            _check(message)

    def message_at(self, places: tuple[int, ...]) -> ProtoMessage:
        """A message by its place: which of the file, which of those inside that one, and so on.

        What counts as inside is for the driver to say: see `schema_compiler.compiler`.
        """
        names, found = self._roots, None
        for place in places:
            if not 0 <= place < len(names):
                raise SchemaUnsupported("$", f"there is no message {list(places)} in it")
            found = self.message(names[place], "$")
            names = found.nested
        if found is None:
            raise SchemaUnsupported("$", "records do not say which message they are")
        return found

    def message(self, name: str, path: str) -> ProtoMessage:
        """A message by its name."""
        if name not in self._messages:
            raise SchemaUnsupported(path, f"the message {name} is not known")
        return self._messages[name]

    def enum(self, name: str, path: str) -> ProtoEnum:
        """An enum by its name."""
        if name not in self._enums or not self._enums[name].values:
            raise SchemaUnsupported(path, f"the enum {name} is not known")
        return self._enums[name]


@lru_cache(maxsize=512)
def parse_proto(text: str) -> ProtoTypes:
    """The types of a schema that was made ready on the driver."""
    try:
        return ProtoTypes(_proto_file_decoder.decode(text))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        if isinstance(error, SchemaUnsupported):
            raise
        raise SchemaUnsupported("$", f"it was not made ready for reading ({error})") from error


def _check(message: ProtoMessage) -> None:
    """Refuse what cannot be told apart in bytes."""
    numbers = [field.number for field in message.fields]
    names = {field.name for field in message.fields}
    if len(set(numbers)) != len(numbers) or len(names) != len(numbers):
        raise SchemaUnsupported("$", f"two fields of {message.name} have one number or name")
    if not all(1 <= number <= LAST_NUMBER for number in numbers):
        raise SchemaUnsupported("$", f"a field of {message.name} has a number that cannot be")
