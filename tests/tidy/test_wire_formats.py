"""Every change of a class that lies in the lake raises the number of its kind of object.

Goal: no version meets a form that it takes for another. Method: describe the classes of each kind
as msgspec sees them, and compare the hash with the table `tests/fixtures/wire_formats.json`, which
has one hash for every number so far.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from penstock.model.entries import FORMAT, Entry
from penstock.model.halted import (
    HALTED_FORMAT,
    HALTED_SAMPLES_FORMAT,
    Halted,
    HaltedSamples,
)
from penstock.model.registered_schema import REGISTERED_FORMAT, StoredSchema
from penstock.model.row_config import CONFIG_FORMAT, StoredConfig
from penstock.model.stored_schema import SCHEMA_FORMAT, StoredDatasetSchema
from penstock.model.value import Value
from penstock.protocol.feed_book.acceptance import ACCEPTANCE_FORMAT, Accepted
from penstock.protocol.feed_book.feed_book import FeedCheckpoint
from penstock.protocol.feed_book.feed_lease import BEAT_FORMAT, FeedBeat
from penstock.protocol.feed_book.inventory_objects import (
    INVENTORY_FORMAT,
    RootObject,
    ShardObject,
)
from penstock.protocol.feed_book.state import FOLD
from penstock.protocol.journal.journal_place import PLACE_FORMAT, JournalPlace
from penstock.protocol.journal.lake_identity import LAKE_FORMAT, LakeIdentity
from penstock.protocol.journal.markers import MARKER_FORMAT, Marker
from penstock.protocol.journal.segment_objects import SEGMENT_FORMAT, PackedEntry, SegmentObject
from tests.helpers.wire_schema import wire_classes, wire_hash

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "fixtures" / "wire_formats.json"
READERS = (
    "src/penstock/protocol/**/*.py",
    "src/penstock/model/stored_schema.py",
    "src/penstock/model/row_config.py",
)


@dataclass(frozen=True)
class Kind:
    """One kind of object: its outermost class, its number now, and what that number is called."""

    root: type[msgspec.Struct]
    number: int
    constant: str
    older: str = "an object without `format` is of format 1, so the new class needs that field"


KINDS = {
    "entry": Kind(Entry, FORMAT, "FORMAT", "add a function to `upgrade_entries.py`"),
    "marker": Kind(Marker, MARKER_FORMAT, "MARKER_FORMAT"),
    "checkpoint": Kind(FeedCheckpoint, FOLD, "FOLD", "older ones are completed by folding"),
    "inventory root": Kind(
        RootObject, INVENTORY_FORMAT, "INVENTORY_FORMAT", "older ones are passed over"
    ),
    "inventory shard": Kind(
        ShardObject, INVENTORY_FORMAT, "INVENTORY_FORMAT", "older ones are passed over"
    ),
    "segment": Kind(SegmentObject, SEGMENT_FORMAT, "SEGMENT_FORMAT"),
    "sealed entry": Kind(PackedEntry, SEGMENT_FORMAT, "SEGMENT_FORMAT"),
    "place of the journal": Kind(JournalPlace, PLACE_FORMAT, "PLACE_FORMAT"),
    "lake identity": Kind(LakeIdentity, LAKE_FORMAT, "LAKE_FORMAT"),
    "acceptance": Kind(Accepted, ACCEPTANCE_FORMAT, "ACCEPTANCE_FORMAT"),
    "halted": Kind(Halted, HALTED_FORMAT, "HALTED_FORMAT"),
    "halted samples": Kind(HaltedSamples, HALTED_SAMPLES_FORMAT, "HALTED_SAMPLES_FORMAT"),
    "beat": Kind(FeedBeat, BEAT_FORMAT, "BEAT_FORMAT"),
    "schema": Kind(StoredDatasetSchema, SCHEMA_FORMAT, "SCHEMA_FORMAT"),
    "registered schema": Kind(StoredSchema, REGISTERED_FORMAT, "REGISTERED_FORMAT"),
    "row configuration": Kind(StoredConfig, CONFIG_FORMAT, "CONFIG_FORMAT"),
}


def complaints(kinds: Mapping[str, Kind], table: Mapping[str, list[str]]) -> list[str]:
    """What is wrong between the classes, their numbers and the table of formats."""
    found = []
    for name, kind in kinds.items():
        known, now = table.get(name, []), wire_hash(kind.root)
        if len(known) == kind.number and known[-1] == now:
            continue
        if len(known) == kind.number:
            found.append(
                f"The class {kind.root.__name__}, or one inside it, has another form than format "
                f"{kind.number} of {name!r} in {TABLE.name}. If the change is meant: keep fixtures "
                f"of the version before (`tests/upgrade/make_lake.py`), raise {kind.constant} to "
                f"{kind.number + 1}, keep older objects readable ({kind.older}), and add the hash "
                f"{now!r} to the table."
            )
        else:
            found.append(
                f"{kind.constant} is {kind.number}, and the table of formats has {len(known)} "
                f"hashes of {name!r}. Formats are numbered without holes and are never taken back; "
                f"the hash of the present form is {now!r}."
            )
    return found


def test_no_class_in_the_lake_has_changed_without_a_new_number() -> None:
    found = complaints(KINDS, json.loads(TABLE.read_text()))
    assert not found, "\n" + "\n".join(found)


def test_every_class_that_is_read_from_the_lake_belongs_to_a_kind() -> None:
    known = {name for kind in KINDS.values() for name in wire_classes(kind.root)}
    read = {
        name: wire_classes(getattr(module_at(file), name))
        for pattern in READERS
        for file in ROOT.glob(pattern)
        for name in decoded_classes(file.read_text(encoding="utf-8"))
    }
    assert {"Entry", "FeedCheckpoint", "Marker", "StoredDatasetSchema"} <= read.keys()
    unknown = [name for name, classes in read.items() if not classes <= known]
    assert unknown == [], "add its kind to KINDS, and its hash to the table"


def module_at(file: Path) -> ModuleType:
    """The module of a file; what it gives to a decoder may be an alias, such as `Entry`."""
    path = file.relative_to(ROOT / "src").with_suffix("")
    return import_module(".".join(path.parts))


def decoded_classes(source: str) -> set[str]:
    """The public classes that a module gives to a JSON decoder, by name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("msgspec.json."):
            given = [*node.args, *(word.value for word in node.keywords if word.arg == "type")]
            found |= {
                each.id for each in given if isinstance(each, ast.Name) and each.id[0].isupper()
            }
    return found


class Plain(Value, frozen=True):
    """A class as it is."""

    name: str
    parts: tuple["Part", ...] = ()


class Part(Value, frozen=True, tag_field="part", tag="one"):
    """Something inside it."""

    size: int


class WithField(Value, frozen=True):
    """One more field, with a default."""

    name: str
    parts: tuple[Part, ...] = ()
    note: str = ""


class WithOther(Value, frozen=True):
    """Another class inside."""

    name: str
    parts: tuple["Other", ...] = ()


class Other(Value, frozen=True, tag_field="part", tag="one"):
    """As `Part`, with another type."""

    size: float


class WithDefault(Value, frozen=True):
    """A field may be left out that could not."""

    name: str = ""
    parts: tuple[Part, ...] = ()


PLAIN = {"plain": [wire_hash(Plain)]}


def test_a_form_that_is_in_the_table_passes() -> None:
    assert complaints({"plain": Kind(Plain, 1, "PLAIN")}, PLAIN) == []


@pytest.mark.parametrize("changed", [WithField, WithOther, WithDefault])
def test_a_planted_change_is_noticed_and_says_what_to_do(changed: type[Value]) -> None:
    (sentence,) = complaints({"plain": Kind(changed, 1, "PLAIN")}, PLAIN)
    assert "raise PLAIN to 2" in sentence
    assert wire_hash(changed) in sentence


def test_names_of_classes_and_the_order_of_fields_are_not_part_of_the_form() -> None:
    class Twin(Value, frozen=True, kw_only=True):
        """The same form under another name, with its fields in another order."""

        parts: tuple[Part, ...] = ()
        name: str

    assert wire_hash(Twin) == wire_hash(Plain)


@pytest.mark.parametrize("number", [0, 2])
def test_a_number_without_its_hash_is_noticed(number: int) -> None:
    (sentence,) = complaints({"plain": Kind(Plain, number, "PLAIN")}, PLAIN)
    assert "without holes" in sentence


def test_decoders_of_public_classes_are_found() -> None:
    source = "a = msgspec.json.Decoder(Marker)\nb = msgspec.json.decode(raw, type=Beat)\n"
    assert decoded_classes(source + "c = msgspec.json.Decoder(_Hidden)") == {"Marker", "Beat"}
