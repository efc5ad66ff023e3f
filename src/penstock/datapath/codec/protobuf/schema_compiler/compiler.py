"""Protobuf schemas made ready for executors, which have no library of Protobuf's makers. Driver.

A registry gives a schema as the words of a .proto file, or as a FileDescriptorProto in base64; the
files that it imports likewise, each under the path by which it is imported. The compiler runs as a
process of its own, in a folder of its own, so that no schema can harm the driver or read its files.
So does all that needs the library of Protobuf's makers, and no command has to wait for that.

Which message a record is, it says by places: the second message inside the first one. Messages
that the compiler makes up for the entries of maps have places too if the schema was registered as
a descriptor, and none if it was registered in words: so count the writers that register each.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.protobuf.schema_compiler.compiler_request import (
    ANSWER,
    QUESTION,
    REFUSED,
    ProtoAnswer,
    ProtoQuestion,
)
from penstock.datapath.codec.protobuf.schema_compiler.errors import CompilerFailed
from penstock.model.registered_schema import RegisteredSchema

_proto_answer_decoder = msgspec.json.Decoder(ProtoAnswer)

_TIMEOUT_S = 60
_LONGEST_COMPLAINT = 500
_HERE = Path(__file__).parents[5]  # the other process reads the same code as this one
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from penstock.datapath.codec.protobuf.schema_compiler.compiler_process import answer
sys.exit(answer(Path(sys.argv[2])))
"""


def prepared(schema: RegisteredSchema) -> RegisteredSchema:
    """The same schema with the JSON of its tree as text.

    Raises SchemaUnsupported, and `CompilerFailed` when that is nobody's fault and may pass. Takes
    some tenths of a second, most of which is the start of a process. Safe to repeat.
    """
    return _answered(ProtoQuestion(schema.text, schema.references))


def prepared_file(text: str, message: str = "") -> RegisteredSchema:
    """The same for a file of a configuration: words, or a set of descriptors in base64.

    A set may have many files; it is the one that declares the message, or else the last.
    """
    return _answered(ProtoQuestion(text, is_file=True, message=message))


def _answered(question: ProtoQuestion) -> RegisteredSchema:
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as name:
        folder = Path(name)
        try:
            _write(folder / QUESTION, msgspec.json.encode(question))
            complaint = _complaint(folder)
            if complaint:
                raise SchemaUnsupported("$", f"the compiler refuses it ({complaint})")
            found = _proto_answer_decoder.decode((folder / ANSWER).read_bytes())
        except UnicodeEncodeError as error:
            raise SchemaUnsupported("$", f"it cannot be compiled ({error})") from error
        except subprocess.TimeoutExpired as error:
            raise CompilerFailed(f"it took over {_TIMEOUT_S} s") from error
        except OSError as error:
            raise CompilerFailed(str(error)) from error
    if found.why:
        raise SchemaUnsupported(found.path, found.why)
    return RegisteredSchema("protobuf", found.tree)


def _write(place: Path, question: bytes) -> None:
    place.write_bytes(question)


def _complaint(folder: Path) -> str:
    """Have the question in a folder answered; what the compiler complains about."""
    command = [sys.executable, "-P", "-c", _PROGRAM, str(_HERE), str(folder)]
    ended = subprocess.run(  # noqa: S603, no word of the command is a schema's
        command, capture_output=True, timeout=_TIMEOUT_S, check=False
    )
    if ended.returncode == 0:
        return ""
    words = " ".join(ended.stderr.decode(errors="replace").split()).replace(f"{folder}/in/", "")
    if ended.returncode != REFUSED:
        raise CompilerFailed(f"it ended with {ended.returncode}, {words[-_LONGEST_COMPLAINT:]}")
    return words[:_LONGEST_COMPLAINT] or "without a word"
