"""A registry in memory, and the schemas that a feed keeps of it."""

from penstock.datapath.schemas.named_schemas import NamedSchemas
from penstock.model.layout import Layout
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec, FeedSpec, RouteSpec
from penstock.ports.registry.errors import (
    RegistryDown,
    RegistryTrouble,
)
from penstock.ports.registry.registry import Registry
from penstock.testing.memory_store import MemoryStore

URL = "http://registry"
ONE = RegisteredSchema("avro", '"string"')


class Registered(Registry):
    """A registry: schemas by key, and whether anybody answers."""

    def __init__(self, **schemas: RegisteredSchema) -> None:
        self.schemas = {key.removeprefix("id"): schema for key, schema in schemas.items()}
        self.is_up = True
        self.trouble: RegistryTrouble = RegistryDown(URL, "it is switched off")
        self.odd: set[str] = set()  # ids with trouble of their own, while others are answered
        self.asked: list[str] = []

    def find(self, key: str) -> RegisteredSchema | None:
        """What there is now."""
        self.asked.append(key)
        if not self.is_up or key in self.odd:
            raise self.trouble
        return self.schemas.get(key)

    def is_there(self) -> bool:
        """Whether it answers what every registry answers."""
        return self.is_up


def shelf_of(
    store: MemoryStore, registry: Registry | None, decode: DecodeSpec | None = None
) -> NamedSchemas:
    """What a new run has."""
    route = RouteSpec("schema", "schema")
    feed = FeedSpec(name="events", topics=("t",), route=route, decode=decode or DecodeSpec("avro"))
    return NamedSchemas(store, Layout("events"), feed, registry)


def kept(store: MemoryStore) -> dict[str, bytes]:
    """The objects in the lake."""
    return store.shelf.objects
