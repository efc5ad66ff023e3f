"""Small feeds whose journals are sealed."""

from penstock.model.envelope import Seal
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from tests.helpers.journals import WatchedStore, a_room, an_owner
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import Room, surroundings

NOW_S = surroundings("x").now()
AT_ONCE = SealPolicy(0.0)


def a_feed(windows: int = 12) -> tuple[Room, WatchedStore]:
    """A feed of so many windows, with checkpoints up to its last entry."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "b"] * (windows // 2)}), store)
    owner = an_owner(room, max_records=1)
    while owner.run_window():
        pass
    with_checkpoints(room)
    return room, store


def with_checkpoints(room: Room) -> None:
    write_checkpoint(room.journal(), room.journal().open().state)
    update_inventory(room.journal(), room.around, every=1)


def sealed_feed(windows: int = 12) -> tuple[Room, WatchedStore, Seal]:
    room, store = a_feed(windows)
    done = seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert done is not None
    store.acts.clear()
    return room, store, done


def lose(store: WatchedStore, key: str, instead: bytes | None = None) -> None:
    store.shelf = store.shelf.with_object(key, instead)


def torn(store: WatchedStore, key: str) -> None:
    lose(store, key, store.shelf.objects[key][:-40])
