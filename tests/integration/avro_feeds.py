"""A feed of Avro records and the registry that holds their schemas."""

import io
import json
import struct
from typing import Any

import fastavro
import msgspec

from penstock.model.spec import (
    DecodeSpec,
    FeedSpec,
    RouteSpec,
    TimeSpec,
)
from penstock.ports.registry.errors import RegistryDown
from penstock.ports.registry.registry import Registry
from tests.integration.lakes import (
    NOON_MS,
    mixed_feed,
)

URL = "http://registry"


def record(name: str, **fields: Any) -> dict[str, Any]:
    """A schema with the fields that all events have, and some more."""
    every = {"event_time": {"type": "long", "logicalType": "timestamp-millis"}, "n": "long"}
    entries = [{"name": field, "type": kind} for field, kind in (every | fields).items()]
    return {"type": "record", "name": name, "namespace": "shop", "fields": entries}


class Shelf:
    """A registry: schemas by id, and whether anybody answers."""

    def __init__(self, **schemas: Any) -> None:
        self.schemas = {int(key.removeprefix("id")): value for key, value in schemas.items()}
        self.is_up = True
        self.asked: list[str] = []
        self.registry = Registry(URL, self._fetch)

    def _fetch(self, url: str) -> tuple[int, bytes]:
        if not self.is_up:
            raise RegistryDown(URL, "it is switched off")
        self.asked.append(url)
        schema = self.schemas.get(int(url.rpartition("/")[2]))
        if schema is None:
            return 404, b'{"error_code": 40403, "message": "Schema not found"}'
        return 200, json.dumps({"schema": json.dumps(schema)}).encode()


def framed(number: int, schema: Any, **values: Any) -> bytes:
    """A record as serializers write it: the id of its schema, then Avro."""
    out = io.BytesIO()
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    fastavro.schemaless_writer(out, parsed, {"event_time": NOON_MS, **values})
    return b"\0" + struct.pack(">I", number) + out.getvalue()


def avro_feed(topic: str, **changes: Any) -> FeedSpec:
    """A feed of Avro by the name of each record's schema."""
    plain = mixed_feed(topic, **changes)
    return msgspec.structs.replace(
        plain,
        decode=DecodeSpec("avro"),
        route=RouteSpec("schema", "schema"),
        time=TimeSpec(field="event_time"),
    )
