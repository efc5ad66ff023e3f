"""Readers of single values below a feed: topics, start, paths, schema files."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from penstock.config import units
from penstock.config.mistakes import Refused, closest, shown
from penstock.config.offsets_file import offsets_of_file
from penstock.config.section_grammar import Reading, as_table, described, text
from penstock.config.tree import Node, Scalar, Table
from penstock.model.spec import SchemaKind, StartSpec

MOST_SCHEMA_BYTES = 1_000_000
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", re.ASCII)
_TOPIC_FORM = "a topic: letters, digits, '.', '_' and '-'"
_SCHEMA_KINDS: dict[str, SchemaKind] = {".avsc": "avsc", ".json": "jsonschema"}
_STARTS = (
    f"earliest | latest | {units.TIME} | {{topic: {{partition: offset}}}} | {{group: NAME}} | "
    "{file: offsets.csv}"
)
_MISSING: dict[str, Literal["refuse", "earliest"]] = {"refuse": "refuse", "earliest": "earliest"}


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A schema as it was written, and in which language."""

    kind: SchemaKind
    text: str


def topic(node: Node, _: Reading) -> str:
    """A name that Kafka accepts for a topic."""
    name = text(node)
    if not _TOPIC.fullmatch(name):
        raise Refused(f"found {shown(name)}", _TOPIC_FORM)
    return name


def path_of(name: str) -> str:
    """A path with dots into the record, without empty parts."""
    if not all(part.strip() for part in name.split(".")):
        raise Refused(f"found {shown(name)}", "a path such as user.country")
    return name


def field_path(node: Node, _: Reading) -> str:
    """The dotted path of a field."""
    return path_of(text(node))


def start(node: Node, reading: Reading) -> StartSpec:
    """Where a feed starts, in one of six forms."""
    if isinstance(node, Table):
        if any(isinstance(node.entries.get(name), Scalar) for name in ("group", "file")):
            return _another_consumer(node, reading)
        return StartSpec(kind="offsets", offsets=dict(_offsets(node, reading)))
    word = text(node)
    if word == "earliest":
        return StartSpec()
    if word == "latest":
        return StartSpec(kind="latest")
    moment = units.time_ms(word)
    if moment is None:
        raise Refused(f"found {shown(word)}", _STARTS, closest(word, ("earliest", "latest")))
    return StartSpec(kind="time", time_ms=moment)


def _another_consumer(node: Table, reading: Reading) -> StartSpec:
    """Where another consumer stopped: `{group: NAME}` or `{file: offsets.csv}`, with `missing`."""
    entries = node.entries
    for name, child in entries.items():
        if name not in ("group", "file", "missing"):
            reading.mistakes.add(child.place, "unknown key", "group, file, missing")
    if "group" in entries and "file" in entries:
        raise Refused("both `group` and `file`", "one of the two")
    word = text(entries["missing"]) if "missing" in entries else "refuse"
    missing = _MISSING.get(word)
    if missing is None:
        allowed = " | ".join(_MISSING)
        reading.mistakes.add(entries["missing"].place, f"found {shown(word)}", allowed)
        missing = "refuse"
    if "group" in entries:
        return StartSpec(kind="group", group=text(entries["group"]), missing=missing)
    name = text(entries["file"])
    path = reading.folder_of(entries["file"]) / name
    return StartSpec(kind="file", offsets=offsets_of_file(str(path)), missing=missing)


def _offsets(node: Table, reading: Reading) -> Iterator[tuple[str, dict[int, int]]]:
    """Yield topics with offsets by partition; invalid ones are recorded and left out."""
    if not node.entries:
        raise Refused("found an empty mapping", _STARTS)
    partition_of, offset_of = units.whole(most=2**31 - 1), units.whole()
    for name, child in node.entries.items():
        if not _TOPIC.fullmatch(name):
            reading.mistakes.add(child.place, "a key that is not a topic", _TOPIC_FORM)
        found: dict[int, int] = {}
        entries = as_table(child).entries if not isinstance(child, Scalar) else {}
        if not entries:
            reading.mistakes.add(child.place, f"found {described(child)}", "{partition: offset}")
        for number, value in entries.items():
            here = partition_of(number)
            offset = offset_of(value.text) if isinstance(value, Scalar) else None
            if here is None or offset is None:
                what = f"found {shown(number)}: {described(value)}"
                reading.mistakes.add(value.place, what, "integers, 0 or more")
            elif here in found:
                reading.mistakes.add(value.place, "the partition is there twice", "once")
            else:
                found[here] = offset
        yield name, found


def text_pattern(node: Node, _: Reading) -> str:
    """A regular expression with named groups. A run checks whether RE2 supports it."""
    word = text(node)
    if units.pattern(word) is None:
        raise Refused(f"found {shown(word)}", "a regular expression")
    if "(?P<" not in word:
        raise Refused("no group has a name", r"groups such as (?P<level>\w+)")
    return word


def schema(node: Node, reading: Reading) -> SchemaFile:
    """The content of a schema file, which must be JSON."""
    name = text(node)
    path = reading.folder_of(node) / name
    kind = _SCHEMA_KINDS.get(path.suffix)
    if kind is None:
        raise Refused(f"found {shown(name)}", "a file .avsc (Avro) or .json (JSON Schema)")
    content = _file_text(path)
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refused(f"{shown(name)} is not JSON: {shown(str(error))}", "a JSON object") from error
    if not isinstance(value, dict):
        raise Refused(f"{shown(name)} is not a JSON object", "a JSON object")
    return SchemaFile(kind, content)


def _file_text(path: Path) -> str:
    try:
        return file_bytes(path).decode("utf-8-sig")
    except ValueError as error:
        raise Refused(f"{shown(str(path))} cannot be read as UTF-8", "a text file") from error


def files_beside(path: Path) -> Callable[[str], bytes | None]:
    """What reads files by their paths from the folder of this one; None where there is no file."""

    def read(name: str) -> bytes | None:
        place = path.parent / name
        try:
            is_there = place.is_file()
        except OSError as error:
            raise Refused(f"{shown(name)} cannot be read", "a readable file") from error
        return file_bytes(place) if is_there else None

    return read


def file_bytes(path: Path) -> bytes:
    """The content of a schema file, within bounds."""
    try:
        if not path.is_file():
            raise Refused(f"there is no file {shown(str(path))}", "a file, relative to this one")
        with path.open("rb") as file:
            raw = file.read(MOST_SCHEMA_BYTES + 1)
    except OSError as error:
        raise Refused(f"{shown(str(path))} cannot be read", "a readable file") from error
    if len(raw) > MOST_SCHEMA_BYTES:
        raise Refused("the file is too large", f"at most {MOST_SCHEMA_BYTES} bytes")
    return raw
