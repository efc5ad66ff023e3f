"""The schemas that records name: asked for once, kept in the lake for good. Driver only.

A run begins with all that the lake has, so no window is read a second time to learn what an earlier
run knew; and it goes on with that while the registry is down. The first record that names an id has
the registry asked whether the id still means the same.

Records may name any id. What they name is asked for within bounds: so many ids in a window, and
what was not there ever more seldom.
"""

from collections.abc import Callable, Iterable

from penstock.api.store import Store
from penstock.datapath.codec.codecs import codec_for, codec_of
from penstock.datapath.schemas.errors import SchemaChanged
from penstock.datapath.schemas.fixed_schema import fixed_for
from penstock.datapath.schemas.prepared_schemas import PreparedSchemas
from penstock.datapath.schemas.registry_backoff import NamesNotFound, Pause
from penstock.datapath.stage.decode_by_schema import FIXED
from penstock.errors import EntryDamaged
from penstock.model.layout import Layout
from penstock.model.names import decode_component, encode_component
from penstock.model.registered_schema import (
    REGISTERED_FORMAT,
    UNUSABLE,
    RegisteredSchema,
    decode_registered,
    encode_registered,
)
from penstock.model.spec import FeedSpec
from penstock.model.wire_formats import newer_or
from penstock.ports.registry.errors import RegistryDown, RegistryTrouble
from penstock.ports.registry.registry import Registry, can_be
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys

MAX_ASKED = 1_000  # ids in one window that nobody knew; garbage may name any number of them
MOST_ODD = 16  # ids in a row of questions that a registry has no sound answer for


class NamedSchemas:
    """What is known of schemas by their keys. None: the registry has none of that name."""

    def __init__(
        self, store: Store, layout: Layout, feed: FeedSpec, registry: Registry | None
    ) -> None:
        self._store = store
        self._prefix = layout.registry
        self._registry = registry
        self._codec = codec_of(feed.decode)
        self._prepared = PreparedSchemas(store, layout.registry, self._codec)
        self.known: dict[str, RegisteredSchema | None] = {}
        fixed = fixed_for(feed)
        if fixed is not None:
            self.known[FIXED] = fixed
        else:
            self.known.update(self._lake())
        self._unasked = set(self.known) - {FIXED}  # whether they still mean the same
        self._met: set[str] = set()  # what records of this run have named
        self._left_out: set[str] = set()  # what was not worth preparing before a record names it
        self._not_found = NamesNotFound()
        self._down = Pause()  # of questions that can wait
        self._window = 0
        self._room = MAX_ASKED

    def ready(self) -> dict[str, RegisteredSchema | None]:
        """What is known, as executors take it.

        What no record of this run has named is there if it costs nothing, and left out if it would
        have to be prepared. Raises what the codec raises.
        """
        found: dict[str, RegisteredSchema | None] = {}
        for key, schema in self.known.items():
            if schema is None or key == FIXED:
                found[key] = schema
            elif key in self._met:
                found[key] = self._prepared.make(schema)
            elif (ready := self._prepared.find(schema)) is not None:
                found[key] = ready
            else:
                self._left_out.add(key)
        return found

    def begin(self) -> None:
        """Begin a window. Of what was not there, only so much is remembered."""
        self._window += 1
        self._room = MAX_ASKED
        self.known = {
            key: schema
            for key, schema in self.known.items()
            if _is_sound(schema) or key in self._not_found
        }

    def learn(self, keys: Iterable[str]) -> bool:
        """Find what records name; True when something was new.

        Whatever the lake has is taken, also while the registry is down; a registry that does not
        answer is asked once. Raises `RegistryTrouble` at the end when something is
        needed that only the registry could tell, and `SchemaChanged` when it tells something else
        than before. What was not there is asked for again, since a registry may be behind its
        writers for a while, but ever more seldom.
        """
        named = set(keys) - {FIXED}
        unknown = named - set(self.known)
        again = {key for key in named - unknown if self._not_found.is_due(key, self._window)}
        trouble = self._find(unknown | again)
        if trouble is None:
            self._check(named & self._unasked & set(self.known))
        left_out = named & self._left_out
        self._left_out -= named
        self._met |= {key for key in named if _is_sound(self.known.get(key))}
        if trouble is not None and not named <= set(self.known):
            raise trouble
        return bool(unknown or left_out) or any(_is_sound(self.known[key]) for key in again)

    def _find(self, keys: set[str]) -> RegistryTrouble | None:
        """Look in the lake and ask the registry; why it does not tell all of it, if so.

        Beyond what one window may ask, and for ids that cannot be, the answer is none.
        """
        asking = _Asking(self._ask, self._is_there)
        for key in sorted(keys, key=lambda each: (len(each), each)):  # true ids are small ones
            if not can_be(key):
                self._lacks(key, None)
                continue
            if self._room == 0:
                if asking.goes_on:
                    self.known.setdefault(key, None)
                continue
            self._room -= 1
            self.known.pop(key, None)
            kept = self._from_lake(key)
            was_told = asking.ask(key)
            if kept is not None:
                self._compare(key, kept, asking.told)
                self._has(key, kept)
                if not was_told:
                    self._unasked.add(key)
            elif was_told:
                self._take(key, asking.told)
        return asking.trouble

    def _check(self, keys: set[str]) -> None:
        """Whether schemas of the lake still mean the same; that can wait while nobody answers."""
        asking = _Asking(self._ask, self._is_there)
        for key in sorted(keys):
            if not self._down.is_over(self._window) or not asking.goes_on:
                return
            kept = self.known.pop(key)
            if not asking.ask(key):
                self.known[key] = kept
                continue
            if kept is not None:
                self._compare(key, kept, asking.told)
            self.known[key] = kept
            self._unasked.discard(key)

    def _take(self, key: str, schema: RegisteredSchema | None) -> None:
        """Remember a schema; in the lake, too, unless there is none or it may yet be mended."""
        if schema is None or not _is_sound(schema):
            self._lacks(key, schema)
            return
        mine = encode_registered(schema)
        other = create_once(self._store, self._place(key), mine)
        if other is not None:
            now, schema = schema, self._decode(key, other)
            self._compare(key, schema, now)
        self._has(key, schema)

    def _has(self, key: str, schema: RegisteredSchema) -> None:
        self.known[key] = schema
        self._not_found.remove(key)

    def _lacks(self, key: str, why: RegisteredSchema | None) -> None:
        self.known[key] = why
        self._not_found.add(key, self._window)

    def _compare(self, key: str, before: RegisteredSchema, now: RegisteredSchema | None) -> None:
        """An id must still mean the same, if anybody answered with a schema."""
        if now is not None and _is_sound(now) and not before.is_same(now):
            raise SchemaChanged(key, before.fingerprint, now.fingerprint)

    def _ask(self, key: str) -> RegisteredSchema | None:
        if self._registry is None:
            return None
        found = self._registry.find(key)
        self._down = Pause()
        return found

    def _is_there(self, trouble: RegistryTrouble) -> bool:
        """Whether it is worth asking for other ids; if not, known ones are left for a while."""
        registry = None if isinstance(trouble, RegistryDown) else self._registry
        if registry is not None and registry.is_there():
            return True
        self._down.grow(self._window)
        return False

    def _from_lake(self, key: str) -> RegisteredSchema | None:
        raw = self._store.read(self._place(key))
        return None if raw is None else self._decode(key, raw)

    def _lake(self) -> dict[str, RegisteredSchema]:
        """All that the lake has under names that say what they are."""
        found = {}
        for place in list_keys(self._store, self._prefix):
            key = decode_component(place.rpartition("/")[2].removesuffix(".json"))
            if key is None or self._place(key) != place:
                continue
            raw = self._store.read(place)
            if raw is None:
                continue
            try:
                found[key] = self._decode(key, raw)
            except EntryDamaged:
                continue  # nothing may need it; a record that names it gets the error
        return found

    def _place(self, key: str) -> str:
        return f"{self._prefix}/{encode_component(key)}.json"

    def _decode(self, key: str, raw: bytes) -> RegisteredSchema:
        try:
            found = decode_registered(raw)
        except ValueError as error:
            damaged = EntryDamaged(self._place(key), f"it is not a schema: {error}")
            raise newer_or(damaged, raw, REGISTERED_FORMAT) from error
        if codec_for(found.type, self._codec) is None:
            raise EntryDamaged(self._place(key), f"no codec reads a schema of {found.type!r}")
        return found


class _Asking:
    """A row of questions to the registry, which ends when it does not answer.

    It may have no sound answer for one id and answer all others: those must not wait for ever
    behind that one. `told` is the last answer.
    """

    def __init__(
        self,
        ask: Callable[[str], RegisteredSchema | None],
        is_there: Callable[[RegistryTrouble], bool],
    ) -> None:
        self._ask = ask
        self._is_there = is_there
        self._odd = 0
        self.goes_on = True
        self.trouble: RegistryTrouble | None = None
        self.told: RegisteredSchema | None = None

    def ask(self, key: str) -> bool:
        """Ask for one; False when there was no answer, or nobody was asked."""
        self.told = None
        if not self.goes_on:
            return False
        try:
            self.told = self._ask(key)
        except RegistryTrouble as trouble:
            self.trouble = trouble
            self._odd += 1
            self.goes_on = self._odd < MOST_ODD and self._is_there(trouble)
            return False
        return True


def _is_sound(schema: RegisteredSchema | None) -> bool:
    """Whether there is a schema, and not only why there is none."""
    return schema is not None and schema.type != UNUSABLE
