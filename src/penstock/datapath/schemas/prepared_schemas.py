"""Schemas prepared for executors: kept in the lake, so that a restart reads them. Driver only.

Some codecs have to prepare a schema before executors can read by it; Protobuf compiles it. What was
prepared lies under the schema's fingerprint and the codec's version of it, so that another version
prepares again. It is never needed, only quicker to read than to make; what cannot be read counts as
absent.
"""

from penstock.api.codec import Codec, Preparation
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.api.store import Store
from penstock.datapath.codec.codecs import codec_for
from penstock.model.names import encode_component
from penstock.model.registered_schema import (
    UNUSABLE,
    RegisteredSchema,
    decode_registered,
    encode_registered,
)
from penstock.ports.store.create_once import create_once


class PreparedSchemas:
    """Schemas as executors take them, by what the registry said. Each is looked for once."""

    def __init__(self, store: Store, prefix: str, codec: Codec) -> None:
        self._store = store
        self._prefix = f"{prefix}/compiled"
        self._codec = codec
        self._made: dict[RegisteredSchema, RegisteredSchema | None] = {}

    def find(self, schema: RegisteredSchema) -> RegisteredSchema | None:
        """The prepared form, if that needs no work; None: it has to be made."""
        preparation = self._preparation(schema)
        if preparation is None:
            return schema
        if schema not in self._made:
            raw = self._store.read(self._place(schema, preparation))
            self._made[schema] = None if raw is None else _read(raw, schema.type, preparation)
        return self._made[schema]

    def make(self, schema: RegisteredSchema) -> RegisteredSchema:
        """The prepared form; one that cannot be prepared says why. Raises what its codec raises."""
        found = self.find(schema)
        preparation = self._preparation(schema)
        if found is None and preparation is not None:
            found = prepared(schema, preparation)
            create_once(self._store, self._place(schema, preparation), encode_registered(found))
            self._made[schema] = found
        return schema if found is None else found

    def _preparation(self, schema: RegisteredSchema) -> Preparation | None:
        codec = codec_for(schema.type, self._codec)
        return None if codec is None or codec.schemas is None else codec.schemas.preparation

    def _place(self, schema: RegisteredSchema, preparation: Preparation) -> str:
        name = encode_component(f"{schema.fingerprint}-{preparation.version()}")
        return f"{self._prefix}/{name}.json"


def prepared(schema: RegisteredSchema, preparation: Preparation) -> RegisteredSchema:
    """A schema as executors take it; one that cannot be used says why."""
    try:
        return preparation.prepare(schema)
    except SchemaUnsupported as error:
        return RegisteredSchema(UNUSABLE, f"at {error.path}, {error.why}")


def _read(raw: bytes, kind: str, preparation: Preparation) -> RegisteredSchema | None:
    """What the lake has, if it is what we would keep."""
    try:
        found = decode_registered(raw)
    except ValueError:
        return None
    if found.type == UNUSABLE:
        return found
    return found if found.type == kind and preparation.is_sound(found) else None
