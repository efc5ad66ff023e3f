"""How the records of a feed are decoded: every key below `decode`, as its codec wants them."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import msgspec

from penstock.api.codec import Codec, IncludedFiles, SchemaFileContent
from penstock.api.doors import CODECS
from penstock.api.errors import OWN_PACKAGE
from penstock.api.find import load, offer
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.config import units
from penstock.config.feed_values import file_bytes, files_beside, text_pattern
from penstock.config.mistakes import Refused, shown
from penstock.config.plugin_by_name import plugin_by_name
from penstock.config.section_grammar import Key, Reading, Section, choice, listed, parsed, text
from penstock.config.tree import Node, Table
from penstock.config.types_section import pinned_types
from penstock.model.plugin import PluginRef
from penstock.model.spec import DecodeSpec

_OF_ALL_FORMATS = frozenset({"format", "incompatible"})


@dataclass(frozen=True, slots=True)
class _RecordSchema:
    """The file that `schema` names, what reads others beside it, and where to complain."""

    name: str
    suffix: str
    raw: bytes
    beside: Callable[[str], bytes | None]
    refuse: Callable[[Refused], None]


def codec_of(decode: DecodeSpec) -> Codec:
    """The codec that a configuration has found."""
    return load(CODECS, decode.codec or offer(CODECS, decode.format))


def check_decode(spec: DecodeSpec, table: Table, reading: Reading) -> None:
    """Complain about keys that belong to other formats, or do not go together."""
    codec = codec_of(spec)
    for key, child in table.entries.items():
        if key in DECODE.keys and key not in _keys_of(codec):
            reading.mistakes.add(child.place, f"`{key}` for {spec.format}", _allowed(codec))
    if spec.types and spec.ids:
        found = "`types` beside `ids`: records that name a schema have all types in it"
        reading.mistakes.add(table.entries["types"].place, found, "one of the two")
    if "schema" in table.entries and "schema" in codec.options and not spec.schema_text:
        return  # the file was refused
    for found, wanted in codec.check(spec):
        reading.mistakes.add(table.place, found, wanted)


def names_records(spec: DecodeSpec) -> bool:
    """True when the schemas of records have names by which records can be routed."""
    schemas = codec_of(spec).schemas_for(spec)
    return schemas is not None and schemas.has_names


def _keys_of(codec: Codec) -> frozenset[str]:
    """The keys of `decode` that a codec takes; types are for records that are read as JSON."""
    learned = frozenset({"types"}) if codec.json is not None else frozenset()
    return codec.options | _OF_ALL_FORMATS | learned


def _allowed(codec: Codec) -> str:
    keys = [f"`{key}`" for key in DECODE.keys if key in _keys_of(codec)]
    return f"for {codec.name}: {', '.join(keys)}"


def _codec(node: Node, _: Reading) -> PluginRef:
    """The codec of a name, which is imported here: it says what belongs to it."""
    return plugin_by_name(CODECS, text(node))


def _record_schema(node: Node, reading: Reading) -> _RecordSchema:
    path = reading.folder_of(node) / text(node)

    def refuse(refused: Refused) -> None:
        reading.mistakes.refuse(node.place, refused)

    raw, beside = file_bytes(path), files_beside(path)
    return _RecordSchema(text(node), path.suffix, raw, beside, refuse)


def _make_decode(
    format: PluginRef | None = None, schema: _RecordSchema | None = None, **values: object
) -> DecodeSpec:
    name = DecodeSpec().format if format is None else format.name
    is_own = format is None or format.package == OWN_PACKAGE  # executors have those by name
    spec = DecodeSpec(name, codec=None if is_own else format, **values)  # type: ignore[arg-type]
    codec = codec_of(spec)
    if "protocol" in codec.options and not spec.protocol:
        spec = msgspec.structs.replace(spec, protocol="binary")
    if schema is None or "schema" not in codec.options:
        return spec
    try:
        found = _schema_text(schema, codec)
        includes = _included(found, schema, codec)
    except Refused as refused:
        schema.refuse(refused)
        return spec
    return msgspec.structs.replace(spec, schema_text=found, schema_includes=includes)


def _included(found: str, schema: _RecordSchema, codec: Codec) -> IncludedFiles:
    """The files that a schema file includes, as its codec finds them."""

    def read(name: str) -> str | None:
        raw = schema.beside(name)
        return None if raw is None else _utf8(name, raw)

    try:
        return codec.included(found, read)
    except SchemaUnsupported as error:
        raise Refused(f"{shown(schema.name)}: {error.why}", f"a schema for {codec.name}") from error


def _schema_text(schema: _RecordSchema, codec: Codec) -> str:
    content: SchemaFileContent | None = codec.schema_files.get(schema.suffix)
    if content is None:
        allowed = f"a file {' or '.join(codec.schema_files)}"
        raise Refused(f"found {shown(schema.name)}", f"{allowed}, for {codec.name}")
    match content:
        case "bytes":
            return base64.b64encode(schema.raw).decode()
        case "text":
            return _utf8(schema.name, schema.raw)
        case "json":
            return _json_object(schema)
        case _ as never:
            assert_never(never)


def _utf8(name: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{shown(name)} cannot be read as UTF-8", "a text file") from error


def _json_object(schema: _RecordSchema) -> str:
    found = _utf8(schema.name, schema.raw)
    try:
        is_object = isinstance(msgspec.json.decode(found), dict)
    except (msgspec.DecodeError, RecursionError) as error:
        why = shown(str(error))
        raise Refused(f"{shown(schema.name)} is not JSON: {why}", "a JSON object") from error
    if not is_object:
        raise Refused(f"{shown(schema.name)} holds no JSON object", "a JSON object")
    return found


def _delimiter(word: str) -> str | None:
    return word if len(word) == 1 and word not in '"\r\n' else None


DECODE = Section(
    _make_decode,
    {
        "format": Key(_codec),
        "schema": Key(_record_schema),
        "message": Key(text),
        "protocol": Key(choice("binary", "compact")),
        "ids": Key(parsed(units.truth, "true or false")),
        "spread": Key(parsed(units.truth, "true or false")),
        "pattern": Key(text_pattern),
        "delimiter": Key(parsed(_delimiter, "one character, such as ',' or a tab")),
        "columns": Key(listed(text, at_least=1)),
        "incompatible": Key(choice("quarantine", "stop")),
        "types": Key(pinned_types),
    },
)
