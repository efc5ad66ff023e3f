"""The schemas that records name: asked for once, kept in the lake for good. Driver only.

A run begins with all that the lake has, so no window is read a second time to learn what an earlier
run knew; and it goes on with that while the registry is down. The first record that names an id has
the registry asked whether the id still means the same.
"""

from collections.abc import Iterable

import msgspec

from penstock.engine.prepared import fixed_for, usable
from penstock.errors import EntryDamaged
from penstock.journal.layout import Layout
from penstock.model.names import decode_component, encode_component
from penstock.model.registered import RegisteredSchema
from penstock.model.spec import FeedSpec
from penstock.source.errors import RegistryDown, SchemaChanged
from penstock.source.registry import Registry
from penstock.store.protocol import Store
from penstock.store.surely import create_surely
from penstock.writer.written import FIXED

_decoder = msgspec.json.Decoder(RegisteredSchema)


class WrittenShelf:
    """What is known of schemas by their keys. None: the registry has none of that name."""

    def __init__(
        self, store: Store, layout: Layout, feed: FeedSpec, registry: Registry | None
    ) -> None:
        self._store = store
        self._prefix = layout.registry
        self._registry = registry
        self.known: dict[str, RegisteredSchema | None] = {}
        fixed = fixed_for(feed)
        if fixed is not None:
            self.known[FIXED] = fixed
        else:
            self.known.update(self._lake())
        self._unasked = set(self.known) - {FIXED}  # whether they still mean the same

    def ready(self) -> dict[str, RegisteredSchema | None]:
        """All that is known, as executors take it."""
        return {
            key: usable(schema) if schema is not None and key != FIXED else schema
            for key, schema in self.known.items()
        }

    def begin(self) -> None:
        """Ask anew for what was not there: a registry may be behind its writers for a while."""
        self.known = {key: schema for key, schema in self.known.items() if schema is not None}

    def learn(self, keys: Iterable[str]) -> bool:
        """Find what records name; True when something was new.

        Whatever the lake has is taken, also while the registry is down; and whoever does not answer
        is not waited for a second time. Raises `RegistryDown` at the end when something is needed
        that only the registry could tell, and `SchemaChanged` when it tells something else than
        before.
        """
        named = set(keys) - {FIXED}
        unknown = named - set(self.known)
        down: RegistryDown | None = None
        for key in sorted(unknown | named & self._unasked):
            kept, now = self.known.pop(key, None) or self._kept(key), None
            if down is None:
                try:
                    now = self._ask(key)
                except RegistryDown as error:
                    down = error
            if kept is not None:
                self._compare(key, kept, now)
                self.known[key] = kept
                self._unasked.discard(key)
            elif down is None:
                self._take(key, now)
        if down is not None and not unknown <= set(self.known):
            raise down
        return bool(unknown)

    def _take(self, key: str, schema: RegisteredSchema | None) -> None:
        """Remember a schema; also in the lake, unless there is none, which may change."""
        if schema is not None:
            mine = msgspec.json.encode(schema)
            other = create_surely(self._store, self._place(key), mine)
            if other is not None:
                self._compare(key, self._decode(key, other), schema)
        self.known[key] = schema

    def _compare(self, key: str, before: RegisteredSchema, now: RegisteredSchema | None) -> None:
        """An id must still mean the same, if anybody answered."""
        if now is not None and before != now:
            raise SchemaChanged(key, before.fingerprint, now.fingerprint)

    def _ask(self, key: str) -> RegisteredSchema | None:
        return None if self._registry is None else self._registry.find(key)

    def _kept(self, key: str) -> RegisteredSchema | None:
        raw = self._store.read(self._place(key))
        return None if raw is None else self._decode(key, raw)

    def _lake(self) -> dict[str, RegisteredSchema]:
        """All that the lake has under names that say what they are."""
        found = {}
        for place in self._store.list_after(self._prefix):
            key = decode_component(place.rpartition("/")[2].removesuffix(".json"))
            raw = None if key is None else self._store.read(place)
            if key is None or raw is None or self._place(key) != place:
                continue
            try:
                found[key] = self._decode(key, raw)
            except EntryDamaged:
                continue  # it may be needed by nobody; whoever names it is told
        return found

    def _place(self, key: str) -> str:
        return f"{self._prefix}/{encode_component(key)}.json"

    def _decode(self, key: str, raw: bytes) -> RegisteredSchema:
        try:
            return _decoder.decode(raw)
        except msgspec.MsgspecError as error:
            raise EntryDamaged(self._place(key), f"it is no schema: {error}") from error
