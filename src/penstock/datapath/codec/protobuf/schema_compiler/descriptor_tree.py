"""From the descriptors of a Protobuf file to the tree that executors read by.

Only the process that runs the compiler comes here, and tests: whatever imports this waits for the
library of Protobuf's makers.
"""

from collections.abc import Iterable

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.protobuf.types import (
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoKind,
    ProtoLabel,
    ProtoMessage,
)

_MOST_MESSAGES = 10_000
_KINDS: dict[int, ProtoKind] = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_FIXED32: "fixed32",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
    FieldDescriptor.TYPE_SFIXED32: "sfixed32",
    FieldDescriptor.TYPE_SFIXED64: "sfixed64",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_MESSAGE: "message",
    FieldDescriptor.TYPE_GROUP: "group",
}


def tree_of(file: FileDescriptor, *, with_entries: bool) -> ProtoFile:
    """The tree of a compiled file; entries of maps have places among its messages, or none."""
    return _Tree(file.pool, with_entries=with_entries).of(file)


class _Tree:
    """Gathers a file's messages, and all messages and enums that these use."""

    def __init__(self, pool: DescriptorPool, *, with_entries: bool) -> None:
        self._pool = pool
        self._with_entries = with_entries
        self._messages: dict[str, ProtoMessage] = {}
        self._enums: dict[str, ProtoEnum] = {}
        self._waiting: list[Descriptor] = []

    def of(self, file: FileDescriptor) -> ProtoFile:
        """The tree of a file."""
        # By name there is no order, so the file's own description gives it.
        description = FileDescriptorProto()
        file.CopyToProto(description)
        roots = [file.message_types_by_name[each.name] for each in description.message_type]
        self._waiting += roots
        while self._waiting:
            self._add(self._waiting.pop())
            if len(self._messages) > _MOST_MESSAGES:
                raise SchemaUnsupported("$", f"there are more than {_MOST_MESSAGES} messages")
        return ProtoFile(
            tuple(each.full_name for each in roots),
            tuple(self._messages.values()),
            tuple(self._enums.values()),
        )

    def _add(self, message: Descriptor) -> None:
        if message.full_name in self._messages:
            return
        is_entry = _is_entry(message)
        alone = _optional(message)
        extensions = self._extensions(message)
        fields = tuple(
            self._field(each, in_entry=is_entry, alone=each.name in alone)
            for each in (*message.fields, *extensions)
        )
        nested = self._nested(message)
        self._waiting += nested
        self._messages[message.full_name] = ProtoMessage(
            message.full_name,
            fields,
            tuple(each.full_name for each in nested),
            "" if extensions else _refusal(message),
        )

    def _extensions(self, message: Descriptor) -> list[FieldDescriptor]:
        """The fields that this schema and its imports add to a message from outside."""
        if not message.is_extendable or message.GetOptions().message_set_wire_format:
            return []
        return sorted(self._pool.FindAllExtensions(message), key=lambda field: field.number)

    def _nested(self, message: Descriptor) -> list[Descriptor]:
        found: Iterable[Descriptor] = message.nested_types
        return [each for each in found if self._with_entries or not _is_entry(each)]

    def _field(self, field: FieldDescriptor, *, in_entry: bool, alone: bool) -> ProtoField:
        type_name = ""
        if field.message_type is not None:
            type_name = field.message_type.full_name
            self._waiting.append(field.message_type)
        elif field.enum_type is not None:
            type_name = field.enum_type.full_name
            values = tuple((each.number, each.name) for each in field.enum_type.values)
            self._enums[type_name] = ProtoEnum(type_name, values)
        oneof = field.containing_oneof
        return ProtoField(
            field.number,
            f"[{field.full_name}]" if field.is_extension else field.name,
            _KINDS[field.type],
            "implicit" if in_entry else _label(field),
            packed=bool(field.is_packed),
            type=type_name,
            oneof=oneof.name if oneof is not None and not alone else "",
        )


def _label(field: FieldDescriptor) -> ProtoLabel:
    if field.message_type is not None and field.is_repeated and _is_entry(field.message_type):
        return "map"
    if field.is_repeated:
        return "repeated"
    if field.is_required:
        return "required"
    return "explicit" if field.has_presence else "implicit"


def _optional(message: Descriptor) -> set[str]:
    """The fields that proto3 calls `optional`, for each of which the compiler makes up a oneof."""
    description = DescriptorProto()
    message.CopyToProto(description)
    return {field.name for field in description.field if field.proto3_optional}


def _is_entry(message: Descriptor) -> bool:
    return bool(message.GetOptions().map_entry)


def _refusal(message: Descriptor) -> str:
    """Why a message cannot become columns, whatever its fields are."""
    if message.GetOptions().message_set_wire_format:
        return f"{message.full_name} is a message set"
    if message.is_extendable and not message.fields:
        return f"{message.full_name} has nothing but extensions"
    return ""
