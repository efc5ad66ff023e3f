"""JSON behind the id of a schema: what is read is what the reference reads of the JSON alone.

Method: JSON Schemas are generated, and records of them as for other JSON: good, odd and broken.
Each gets an id before it.
"""

from typing import Any

import msgspec
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.codec import RecordReader
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.schema_reader import json_schema_reader
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import DatasetSchema
from tests.helpers.json_events import NAMES, broken, events_of, odd_events, spellings

REFERENCE = JsonDecoder(exact_only=True)
ID = b"\0\0\0\0\7"

Schemas = st.SearchStrategy[dict[str, Any]]


def typed(kind: str, nullable: bool) -> dict[str, Any]:
    return {"type": [kind, "null"] if nullable else kind}


@st.composite
def objects(draw: st.DrawFn, inside: Schemas) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, inside, min_size=1, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    return {"type": "object", "properties": properties, "required": required}


PLAIN: Schemas = st.builds(
    typed, st.sampled_from(["boolean", "integer", "number", "string"]), st.booleans()
)
PARTS: Schemas = st.recursive(
    PLAIN,
    lambda inside: st.one_of(
        inside.map(lambda item: {"type": "array", "items": item}),
        inside.map(lambda item: {"type": "object", "additionalProperties": item}),
        objects(inside),
    ),
    max_leaves=4,
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[RecordReader, list[bytes]]:
    """A writer, and records of it in any order."""
    schema = msgspec.json.encode(draw(objects(PARTS))).decode()
    reader = json_schema_reader(RegisteredSchema("json", schema))
    sound = events_of(reader.fields).flatmap(spellings)
    any_payload = st.one_of(sound, odd_events(reader.fields), sound.flatmap(broken))
    return reader, draw(st.lists(any_payload, max_size=12))


@given(worlds())
def test_what_is_read_behind_an_id_is_what_the_reference_reads(
    world: tuple[RecordReader, list[bytes]],
) -> None:
    reader, payloads = world
    schema = DatasetSchema("record", 1, declared=True, fields=reader.fields)
    wanted = REFERENCE.decode(pa.array(payloads, pa.binary()), schema)
    *columns, rest = wanted.batch.columns
    for before in (b"", ID):
        found = reader.read(
            pa.array([before + each for each in payloads], pa.binary()), len(before)
        )
        found.batch.validate(full=True)
        assert found.bad == wanted.bad
        assert found.good.tolist() == wanted.good.tolist()
        assert repr(found.batch.to_pydict()) == repr(
            dict(zip(found.batch.schema.names, (each.to_pylist() for each in columns), strict=True))
        )
        kept = [None] * len(rest) if found.rest is None else found.rest.to_pylist()
        assert kept == rest.to_pylist()


@given(st.one_of(st.binary(max_size=40), objects(PARTS).map(msgspec.json.encode).flatmap(broken)))
def test_a_broken_schema_is_refused_or_read_and_does_no_harm(text: bytes) -> None:
    try:
        reader = json_schema_reader(RegisteredSchema("json", text.decode(errors="replace")))
    except SchemaUnsupported:
        return
    found = reader.read(pa.array([ID + b"{}", ID], pa.binary()), len(ID))
    assert len(found.good) + len(found.bad) == 2
