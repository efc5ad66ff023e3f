"""What the compiler made of Protobuf schemas: kept in the lake, so that a restart reads it. Driver.

A compiled form lies under the schema's fingerprint, the version of its own format and that of the
compiler: whoever has another of either makes it anew. It is never needed, only quicker to read than
to make; one that cannot be read counts as none.
"""

from importlib.metadata import version

import msgspec

from penstock.api.store import Store
from penstock.datapath.codec.protobuf.types import parse_proto
from penstock.datapath.codec.shared.unsupported import SchemaUnsupported
from penstock.datapath.schemas.for_executors import usable
from penstock.model.names import encode_component
from penstock.model.registered_schema import RegisteredSchema
from penstock.ports.store.create_once import create_once

# Of the tree that `proto_tree` makes; a test tells when it has to be raised. Also raised when more
# schemas can be compiled than before, since what is kept says of each that it cannot be.
FORMAT = 2
_decoder = msgspec.json.Decoder(RegisteredSchema)


class Compiled:
    """Schemas as executors take them, by what the registry said. Each is looked for once."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = f"{prefix}/compiled"
        self._made: dict[RegisteredSchema, RegisteredSchema | None] = {}

    def find(self, schema: RegisteredSchema) -> RegisteredSchema | None:
        """The compiled form, if there is no need to compile for it."""
        if schema.type != "protobuf":
            return schema
        if schema not in self._made:
            raw = self._store.read(self._place(schema))
            self._made[schema] = None if raw is None else _read(raw)
        return self._made[schema]

    def make(self, schema: RegisteredSchema) -> RegisteredSchema:
        """The compiled form; one that cannot be compiled says why. Raises `CompilerFailed`."""
        found = self.find(schema)
        if found is None:
            found = usable(schema)
            create_once(self._store, self._place(schema), msgspec.json.encode(found))
            self._made[schema] = found
        return found

    def _place(self, schema: RegisteredSchema) -> str:
        name = encode_component(f"{schema.fingerprint}-{FORMAT}-{version('grpcio-tools')}")
        return f"{self._prefix}/{name}.json"


def _read(raw: bytes) -> RegisteredSchema | None:
    """What somebody kept, if it is what we would keep."""
    try:
        found = _decoder.decode(raw)
        if found.type == "protobuf":
            parse_proto(found.text)
    except (msgspec.MsgspecError, ValueError, SchemaUnsupported):
        return None
    return found if found.type in {"protobuf", "unusable"} else None
