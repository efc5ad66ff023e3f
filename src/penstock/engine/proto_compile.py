"""Protobuf schemas made ready for executors, which have no library of Protobuf's makers. Driver.

A registry gives a schema as the words of a .proto file, or as a FileDescriptorProto in base64; the
files that it imports likewise, each under the path by which it is imported. The compiler runs as a
process of its own, in a folder of its own, so that no schema can harm the driver or read its files.

Which message a record is, it says by places: the second message inside the first one. Messages
that the compiler makes up for the entries of maps have places too if the schema was registered as
a descriptor, and none if it was registered in words: so count the writers that register each.
"""

import base64
import binascii
import errno
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import grpc_tools
import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from penstock.codec.proto_types import (
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoKind,
    ProtoLabel,
    ProtoMessage,
)
from penstock.codec.unsupported import SchemaUnsupported
from penstock.engine.proto_errors import CompilerFailed
from penstock.engine.proto_known import KNOWN_FILES
from penstock.model.registered import RegisteredSchema

_MAIN = "penstock_schema_itself.proto"
_KNOWN = Path(grpc_tools.__file__).parent / "_proto"  # the files that every compiler has
_TIMEOUT_S = 60
_REFUSED = 3  # a code of our own, since Python ends with 1 for faults that are not the schema's
_COMPILE = f"""
import sys
from grpc_tools import protoc
sys.exit({_REFUSED} if protoc.main(sys.argv) else 0)
"""
_NAMES = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
_MOST_MESSAGES = 10_000
_LONGEST_COMPLAINT = 500
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


def prepared(schema: RegisteredSchema) -> RegisteredSchema:
    """The same schema with the JSON of its tree as text.

    Raises SchemaUnsupported, and `CompilerFailed` when that is nobody's fault and may pass. Takes
    some tenths of a second, most of which is the compiler's start. Safe to repeat.
    """
    files = _files(schema)
    pool, main = DescriptorPool(), None
    try:
        for file in _compiled(files).file:
            pool.Add(file)
        main = pool.FindFileByName(_MAIN)
    except (TypeError, KeyError, ValueError) as error:
        raise SchemaUnsupported("$", f"it does not fit together ({error})") from error
    tree = tree_of(main, with_entries=isinstance(files[_MAIN], FileDescriptorProto))
    return RegisteredSchema("protobuf", msgspec.json.encode(tree).decode())


def tree_of(file: FileDescriptor, *, with_entries: bool) -> ProtoFile:
    """The tree of a compiled file; entries of maps have places among its messages, or none."""
    return _Tree(with_entries=with_entries).of(file)


def _files(schema: RegisteredSchema) -> dict[str, str | FileDescriptorProto]:
    """All files by the paths that imports call them by."""
    files: dict[str, str | FileDescriptorProto] = {}
    texts: dict[str, str] = {}
    for name, text in schema.references:
        _check_path(name)
        if texts.setdefault(name, text) != text:
            raise SchemaUnsupported("$", f"two different files are called {name!r}")
        files[name] = _read(name, text)
    files[_MAIN] = _read(_MAIN, schema.text)
    return KNOWN_FILES | files


def _check_path(name: str) -> None:
    """Refuse names that are no paths below a folder."""
    parts = name.split("/")
    odd = any(part in {"", ".", ".."} for part in parts) or name.startswith("-")
    strange = any(ord(letter) < 32 or letter in '\\:*?"<>|' for letter in name)
    if odd or strange or name == _MAIN or PurePosixPath(name).is_absolute():
        raise SchemaUnsupported("$", f"it refers to {name!r}, which cannot be an import")


def _read(name: str, text: str) -> str | FileDescriptorProto:
    """Words as they are; a descriptor under the name it is known by here."""
    try:
        raw = base64.b64decode("".join(text.split()), validate=True)
        found = FileDescriptorProto.FromString(raw)
    except (binascii.Error, ValueError, DecodeError):
        return text
    found.name = name
    return found


def _compiled(files: dict[str, str | FileDescriptorProto]) -> FileDescriptorSet:
    """Descriptors of all files that are needed, each after what it imports."""
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as folder:
        try:
            _write(Path(folder), files)
            complaint = _complaint(Path(folder))
            if complaint:
                raise SchemaUnsupported("$", f"the compiler refuses it ({complaint})")
            return FileDescriptorSet.FromString((Path(folder) / "out").read_bytes())
        except (UnicodeEncodeError, DecodeError) as error:
            raise SchemaUnsupported("$", f"it cannot be compiled ({error})") from error
        except subprocess.TimeoutExpired as error:
            raise CompilerFailed(f"it took over {_TIMEOUT_S} s") from error
        except OSError as error:
            if error.errno in _NAMES:
                raise SchemaUnsupported("$", f"its imports cannot be files ({error})") from error
            raise CompilerFailed(str(error)) from error


def _write(folder: Path, files: dict[str, str | FileDescriptorProto]) -> None:
    """Files in words below `in`, and all descriptors in `ready`."""
    source = folder / "in"
    source.mkdir()
    ready = FileDescriptorSet()
    for name, file in files.items():
        if isinstance(file, str):
            place = source / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file, encoding="utf-8")
        else:
            ready.file.append(file)
    if ready.file:
        (folder / "ready").write_bytes(ready.SerializeToString())


def _complaint(folder: Path) -> str:
    """Run the compiler on what lies in a folder; what it complains about."""
    source, ready = folder / "in", folder / "ready"
    command = [sys.executable, "-P", "-c", _COMPILE, f"-I{source}", f"-I{_KNOWN}"]
    if ready.exists():
        command.append(f"--descriptor_set_in={ready}")
    command += ["--include_imports", f"--descriptor_set_out={folder / 'out'}", _MAIN]
    ended = subprocess.run(  # noqa: S603, no word of the command is a schema's
        command, capture_output=True, timeout=_TIMEOUT_S, check=False
    )
    if ended.returncode == 0:
        return ""
    words = " ".join(ended.stderr.decode(errors="replace").split()).replace(f"{source}/", "")
    if ended.returncode != _REFUSED:
        raise CompilerFailed(f"it ended with {ended.returncode}, {words[-_LONGEST_COMPLAINT:]}")
    return words[:_LONGEST_COMPLAINT] or "without a word"


class _Tree:
    """Gathers a file's messages, and all messages and enums that these use."""

    def __init__(self, *, with_entries: bool) -> None:
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
        fields = tuple(
            self._field(each, in_entry=is_entry, alone=each.name in alone)
            for each in message.fields
        )
        nested = self._nested(message)
        self._waiting += nested
        self._messages[message.full_name] = ProtoMessage(
            message.full_name,
            fields,
            tuple(each.full_name for each in nested),
            _refusal(message),
        )

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
            field.name,
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
