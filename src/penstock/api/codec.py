"""What a format of records is: one `Codec` value.

A codec is behind an entry point of the group `penstock.codecs`, whose target is a `Codec` at the
top level of a module. Its name is what `decode.format` says in a configuration. Records become
columns in one of two ways; a codec offers one of them, or both:

    json      Records carry no schema. The codec turns payloads into JSON objects, and Penstock does
              the rest: it routes them, learns the columns of each dataset, and decodes them.
    schemas   Every record was written with a schema, which it names or which all records share. The
              codec makes a `RecordReader` of a schema, and that reads payloads into columns.

A codec that offers both reads by schemas where the configuration says `ids: true`.

What is called where, and how often:

    driver       `check`, `schema_files`,  when a configuration is read
                 `included`
                 `fixed`                   when a feed starts, and by `penstock check`
                 `preparation`             once per schema that records name; the result is kept in
                                           the lake
    executors    `convert`, `frames`       once per batch
                 `RecordReader.read`       once per batch and schema
    both         `reader`                  once per schema and process

A codec does not travel to executors: they get its name and import it, so its package must be
installed there. It pickles all the same if its functions are at the top level of a module. Every
call may be repeated, in another process and with the records in other batches, and must answer
alike. Payloads hold whatever somebody has sent: nothing that they hold may raise an error, and a
record that cannot be read is bad, alone. `penstock.testing.contracts.codec` tests all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.model.bad_records import BadRecord
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import Field
from penstock.model.spec import DecodeSpec

if TYPE_CHECKING:  # a codec is described without Arrow, so that light commands do without it
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = [
    "BadRecord",
    "Codec",
    "Complaint",
    "DecodedBatch",
    "Frame",
    "FramedRecords",
    "JsonDocuments",
    "JsonRecords",
    "Preparation",
    "RecordReader",
    "RecordSchemas",
    "RegisteredSchema",
    "RowRange",
    "SchemaUnsupported",
]

Rows: TypeAlias = "npt.NDArray[np.int64]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"
Complaint = tuple[str, str]  # of a configuration: what was found, and what was wanted
SchemaFileContent = Literal["json", "text", "bytes"]
IncludedFiles = tuple[tuple[str, str], ...]  # paths from the folder of the schema file, and texts
Message = tuple[int, ...]  # the place of a message in a schema that has several


@dataclass(frozen=True, slots=True)
class RowRange:
    """Neighbouring records. One that `is_heavy` is alone, and may be too large to be read."""

    start: int
    stop: int
    is_heavy: bool = False

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class DecodedBatch:
    """Records as columns: `batch` holds the good ones in their order, `good` their numbers.

    A column has the name of its field's column, and the Arrow type of the field's type. `bad` are
    all others. `rest` is the JSON of what has no column, if there is any: a text or null per good
    record. `by_reference` marks the good records that the codec has read singly, if there are any:
    a slower way, which status tells.
    """

    batch: pa.RecordBatch
    good: Rows
    bad: list[BadRecord]
    rest: pa.Array | None = None
    by_reference: Mask | None = None

    def take(self, members: Rows) -> DecodedBatch:
        """Some of the good records, by their places among them."""
        if len(members) == len(self.good):
            return self
        rest = None if self.rest is None else self.rest.take(members)
        singly = None if self.by_reference is None else self.by_reference[members]
        return DecodedBatch(self.batch.take(members), self.good[members], [], rest, singly)


class ReadRecords(Protocol):
    """Reads payloads of one schema. Executor, once per batch and schema."""

    def __call__(self, payloads: pa.Array, skipped: int, /) -> DecodedBatch:
        """Columns of payloads: bytes, without nulls, of which the first `skipped` are a frame's."""
        ...


def _all_at_once(payloads: pa.Array) -> Iterable[RowRange]:
    return [RowRange(0, len(payloads))]


@dataclass(frozen=True, slots=True, eq=False)
class RecordReader:
    """A schema, compiled for reading. `name` is what the schema calls its record; it may be empty.

    Payloads are cut by `row_ranges` before they are read, so that the memory for their columns is
    bounded. Made on executors and never pickled.
    """

    name: str
    fields: tuple[Field, ...]
    read: ReadRecords
    row_ranges: Callable[[pa.Array], Iterable[RowRange]] = _all_at_once


@dataclass(frozen=True, slots=True)
class Frame:
    """What the bytes around a payload say: which schema, and which message of it.

    `key` is the id of the schema in digits, or `guid:` and its name. `skipped` is how many bytes at
    the start of the payload belong to the frame.
    """

    key: str
    message: Message
    skipped: int


@dataclass(frozen=True, slots=True)
class FramedRecords:
    """Records by frame, as their numbers in the batch, and those that have none."""

    groups: list[tuple[Frame, Rows]]
    bad: list[BadRecord]


class ReadFrames(Protocol):
    """Finds which schema each record names. Executor, once per batch."""

    def __call__(self, payloads: pa.Array, headers: pa.Array, /) -> FramedRecords:
        """`headers` are JSON texts, null where a record has none."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """What the driver does to a schema before executors can read by it, such as compiling it.

    `version` names the form of the result; the lake keeps a result under that name, and another
    version prepares again. `prepare` raises `SchemaUnsupported` when the schema cannot be used, and
    any error of Penstock's when it should be tried again. `is_sound` says whether a result that
    was found in the lake can be used.
    """

    version: Callable[[], str]
    prepare: Callable[[RegisteredSchema], RegisteredSchema]
    is_sound: Callable[[RegisteredSchema], bool]


def _every_record_names_its_own(_: DecodeSpec) -> RegisteredSchema | None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class RecordSchemas:
    """Records that were written with schemas.

    reader         compiles a schema, or one message of it; raises `SchemaUnsupported`
    fixed          the one schema of all records, whose type is the codec's name; None: each record
                   names its own, and a registry knows it. Raises `SchemaUnsupported`
    frames         finds which schema each record names; without it, records begin as the
                   serializers of schema registries write them
    has_messages   a schema describes several messages, and a record names one of them
    has_names      a schema gives its record a name, by which records can be routed
    """

    reader: Callable[[RegisteredSchema, Message], RecordReader]
    fixed: Callable[[DecodeSpec], RegisteredSchema | None] = _every_record_names_its_own
    frames: ReadFrames | None = None
    preparation: Preparation | None = None
    has_messages: bool = False
    has_names: bool = True


@dataclass(frozen=True, slots=True)
class JsonDocuments:
    """The JSON of payloads, one text each; empty where a payload is bad."""

    texts: pa.Array
    bad: list[BadRecord]


@dataclass(frozen=True, slots=True, eq=False)
class JsonRecords:
    """Records without a schema, which are read as JSON.

    `convert` turns payloads (bytes, without nulls) into JSON objects; without it they are JSON
    already. It refuses payloads of more than 16 MiB, and no byte of a payload may become more than
    `growth` bytes of JSON.
    """

    convert: Callable[[pa.Array], JsonDocuments] | None = None
    growth: int = 1


def _includes_nothing(_text: str, _read: Callable[[str], str | None]) -> IncludedFiles:
    return ()


def _no_complaint(_: DecodeSpec) -> Iterable[Complaint]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """One format of records. `json`, `schemas` or both say how records are read.

    options        the keys of `decode` that belong to this format, besides those of all formats;
                   of `schema`, `message`, `protocol`, `ids`, `spread`, `pattern`, `delimiter`,
                   `columns`
    schema_files   the suffixes of files that the key `schema` may name, and what they hold. A file
                   of bytes arrives in base64
    included       all files that the text of a schema file includes, and those include; `read`
                   gives the text of one by its path, None if there is none. They arrive in
                   `schema_includes`. Raises `SchemaUnsupported`
    check          what is wrong with the keys of a configuration when they are taken together
    """

    name: str
    json: JsonRecords | None = None
    schemas: RecordSchemas | None = None
    options: frozenset[str] = frozenset()
    schema_files: Mapping[str, SchemaFileContent] = field(default_factory=dict)
    included: Callable[[str, Callable[[str], str | None]], IncludedFiles] = _includes_nothing
    check: Callable[[DecodeSpec], Iterable[Complaint]] = _no_complaint

    def schemas_for(self, decode: DecodeSpec) -> RecordSchemas | None:
        """The schemas of a feed's records; None: they are read as JSON."""
        return self.schemas if self.json is None or decode.ids else None
