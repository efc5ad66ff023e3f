"""The process that compiles a Protobuf schema; `compiler` starts one for each.

What the compiler complains about it says on standard error itself.
"""

import base64
import binascii
import errno
from pathlib import Path, PurePosixPath

import grpc_tools
import msgspec
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from grpc_tools import protoc

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.protobuf.schema_compiler.compiler_request import (
    ANSWER,
    QUESTION,
    REFUSED,
    ProtoAnswer,
    ProtoQuestion,
)
from penstock.datapath.codec.protobuf.schema_compiler.descriptor_tree import tree_of
from penstock.datapath.codec.protobuf.schema_compiler.known_imports import KNOWN_FILES

_proto_question_decoder = msgspec.json.Decoder(ProtoQuestion)

_MAIN = "penstock_schema_itself.proto"
_KNOWN = Path(grpc_tools.__file__).parent / "_proto"  # the files that every compiler has
_NAMES = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
_Files = dict[str, str | FileDescriptorProto]


def answer(folder: Path) -> int:
    """Answer the question that lies in a folder; the exit code."""
    question = _proto_question_decoder.decode((folder / QUESTION).read_bytes())
    try:
        files = _files(_unpacked(question) if question.is_file else question)
        _write(folder, files)
        if _compile(folder):
            return REFUSED
        made = FileDescriptorSet.FromString((folder / "out").read_bytes())
        found = ProtoAnswer(_tree(made, isinstance(files[_MAIN], FileDescriptorProto)))
    except SchemaUnsupported as error:
        found = ProtoAnswer(path=error.path, why=error.why)
    except DecodeError as error:
        found = ProtoAnswer(path="$", why=f"it cannot be compiled ({error})")
    (folder / ANSWER).write_bytes(msgspec.json.encode(found))
    return 0


def _unpacked(question: ProtoQuestion) -> ProtoQuestion:
    """A .proto file as it is; of a set of descriptors one is meant, and all others help.

    That is the one that declares the message, or the last one: compilers put it behind its imports.
    """
    try:
        raw = base64.b64decode(question.text, validate=True)
        files = FileDescriptorSet.FromString(raw).file
    except (binascii.Error, ValueError, DecodeError):
        return question
    encoded = [base64.b64encode(file.SerializeToString()).decode() for file in files]
    if not encoded:
        raise SchemaUnsupported("$", "the set of descriptors is empty")
    declaring = [place for place, file in enumerate(files) if _declares(file, question.message)]
    main = declaring[0] if declaring else len(encoded) - 1
    others = [(file.name, text) for file, text in zip(files, encoded, strict=True)]
    return ProtoQuestion(encoded[main], tuple(others[:main] + others[main + 1 :]))


def _declares(file: FileDescriptorProto, name: str) -> bool:
    """Whether a message of this full name is declared in a file, also inside of others."""
    level = [(f"{file.package}." if file.package else "", each) for each in file.message_type]
    while level:
        if any(f"{around}{each.name}" == name for around, each in level):
            return True
        level = [
            (f"{around}{each.name}.", inner) for around, each in level for inner in each.nested_type
        ]
    return False


def _files(question: ProtoQuestion) -> _Files:
    """All files by the paths that imports call them by."""
    files: _Files = {}
    texts: dict[str, str] = {}
    for name, text in question.references:
        _check_path(name)
        if texts.setdefault(name, text) != text:
            raise SchemaUnsupported("$", f"two different files are called {name!r}")
        files[name] = _read(name, text)
    files[_MAIN] = _read(_MAIN, question.text)
    return KNOWN_FILES | files


def _check_path(name: str) -> None:
    """Refuse names that are not paths below a folder."""
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


def _write(folder: Path, files: _Files) -> None:
    """Files in words below `in`, and all descriptors in `ready`."""
    source = folder / "in"
    source.mkdir()
    ready = FileDescriptorSet()
    for name, file in files.items():
        if isinstance(file, str):
            _put(source / name, file)
        else:
            ready.file.append(file)
    if ready.file:
        (folder / "ready").write_bytes(ready.SerializeToString())


def _put(place: Path, text: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        if error.errno not in _NAMES:
            raise
        raise SchemaUnsupported("$", f"its imports cannot be files ({error})") from error


def _compile(folder: Path) -> int:
    """Run the compiler on what lies in a folder; 0 when it made `out`."""
    source, ready = folder / "in", folder / "ready"
    words = ["protoc", f"-I{source}", f"-I{_KNOWN}"]
    if ready.exists():
        words.append(f"--descriptor_set_in={ready}")
    words += ["--include_imports", f"--descriptor_set_out={folder / 'out'}", _MAIN]
    return int(protoc.main(words))


def _tree(made: FileDescriptorSet, is_described: bool) -> str:
    """The JSON of the tree; descriptors come each after what it imports."""
    pool = DescriptorPool()
    try:
        for file in made.file:
            pool.Add(file)
        main = pool.FindFileByName(_MAIN)
    except (TypeError, KeyError, ValueError) as error:
        raise SchemaUnsupported("$", f"it does not fit together ({error})") from error
    return msgspec.json.encode(tree_of(main, with_entries=is_described)).decode()
