"""Journals elsewhere: the lake names them, and data without its own journal is never a start."""

import msgspec
import pytest

from penstock.api.store import Store
from penstock.audit.shallow import audit
from penstock.care.clean import clean, garbage
from penstock.errors import (
    EntryNewer,
    JournalCut,
    JournalMissing,
    MarkerWrong,
    OutcomeUnknown,
    PenstockError,
    StoreUnavailable,
)
from penstock.model.layout import is_journal_key
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.split_store import split_store
from penstock.protocol.journal.errors import (
    JournalElsewhere,
    JournalForeign,
    JournalUnnamed,
    PlaceDamaged,
)
from penstock.protocol.journal.journal_place import JournalPlace
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import (
    LAYOUT,
    a_room,
    an_owner,
    decided_only,
    delivered,
    kinds,
    leftover,
    rows,
)
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import LAKE, Room, surroundings

NAME = LAYOUT.journal_place
FATES = ["a", "b", "a"]


class Site:
    """A lake, and places for its journals."""

    def __init__(self) -> None:
        self.lake = MemoryStore()
        self.places = {"east": MemoryStore(), "west": MemoryStore()}

    def store(self, place: str = "east") -> Store:
        """The store that a configuration gives."""
        return split_store(self.lake, self.places[place], place) if place else self.lake

    def room(self, place: str = "east", *faults: Fault, lake: tuple[Fault, ...] = ()) -> Room:
        """A process with a configuration, and with faults in either store."""
        kafka = SimKafka({0: list(FATES)})
        if not place:
            return a_room(kafka, FaultStore(self.lake, lake))
        journal = FaultStore(self.places[place], faults)
        return a_room(kafka, split_store(FaultStore(self.lake, lake), journal, place))

    def move(self, before: str, after: str) -> None:
        """Copy a journal, as an operator does; the copy that was is left behind."""
        old, new = (self.places[each] if each else self.lake for each in (before, after))
        for key in [k for k in list_keys(old, "") if is_journal_key(k)]:
            new.create(key, old.read(key) or b"")

    def name(self, place: str) -> None:
        """Write down where the journal lies, over what was there."""
        found = msgspec.json.decode(self.lake.read(NAME) or b"{}")
        self.lake.delete(NAME)
        if place:
            self.lake.create(NAME, msgspec.json.encode(found | {"place": place}))


@pytest.fixture
def site() -> Site:
    """A feed that was delivered with its journal in the east."""
    made = Site()
    delivered(made.room())
    return made


def refused(site: Site, place: str) -> PenstockError:
    """The error of whoever opens the feed with a configuration; nothing is changed by it."""
    before = [site.lake.shelf, *(each.shelf for each in site.places.values())]
    errors = []
    for use in (lambda room: room.journal().open(), an_owner):
        with pytest.raises(PenstockError) as raised:
            use(site.room(place))
        errors.append(raised.value)
    assert [site.lake.shelf, *(each.shelf for each in site.places.values())] == before
    assert type(errors[0]) is type(errors[1])
    return errors[0]


def test_a_feed_is_delivered_and_each_object_lies_where_it_belongs(site: Site) -> None:
    assert not any(is_journal_key(key) for key in list_keys(site.lake, ""))
    assert all(is_journal_key(key) for key in list_keys(site.places["east"], ""))
    assert rows(site.lake, "a") == [(0, 0), (0, 2)]
    room = site.room()
    assert audit(room.journal()).verdict == "ok"
    entry = room.journal().require(0)
    place = msgspec.json.decode(site.lake.read(NAME) or b"", type=JournalPlace)
    assert place == JournalPlace(1, "feed", LAKE, 1, "east", entry.sha256)


@pytest.mark.parametrize(("place", "said"), [("", "that it lies in the lake"), ("west", "'west'")])
def test_another_configuration_is_refused_in_a_sentence_that_says_what_to_write(
    site: Site, place: str, said: str
) -> None:
    error = refused(site, place)
    assert isinstance(error, JournalElsewhere)
    assert f"lies at 'east', but the configuration says {said}." in str(error)
    assert "write `journal: east` in the configuration" in str(error)


def test_a_journal_in_the_lake_is_not_overlooked() -> None:
    """Also that of a version which knew no other: it names nothing."""
    site = Site()
    delivered(site.room(""))
    assert NAME not in list_keys(site.lake, "")
    error = refused(site, "east")
    assert isinstance(error, JournalElsewhere)
    assert "lies in the lake itself, but the configuration says 'east'." in str(error)
    assert "remove `journal` from the configuration" in str(error)
    assert audit(site.room("").journal()).verdict == "ok"


def test_a_journal_that_is_gone_is_never_a_first_start(site: Site) -> None:
    site.places["east"] = MemoryStore()
    error = refused(site, "east")
    assert isinstance(error, JournalMissing)
    assert "There is no journal at 'east/_penstock/feed/journal'" in str(error)


def test_data_without_name_and_journal_is_never_a_first_start(site: Site) -> None:
    site.lake.delete(NAME)
    assert isinstance(refused(site, "west"), JournalMissing)
    assert isinstance(refused(site, ""), JournalMissing)


def test_a_journal_in_use_that_the_lake_does_not_name_is_refused(site: Site) -> None:
    site.lake.delete(NAME)
    error = refused(site, "east")
    assert isinstance(error, JournalUnnamed)
    assert repr(NAME) in str(error)


def test_an_older_copy_of_the_journal_is_noticed_by_the_marks_in_the_lake() -> None:
    site = Site()
    owner = an_owner(site.room())
    owner.run_window()
    old = site.places["east"].shelf
    owner.run_window()
    site.places["east"].shelf = old
    assert isinstance(refused(site, "east"), JournalCut)


def test_the_last_entry_cannot_be_removed_unnoticed(site: Site) -> None:
    number = site.room().journal().open().state.number
    site.places["east"].delete(LAYOUT.entry(number))
    receipt = audit(site.room().journal())
    assert [each.kind for each in receipt.differences] == ["journal"]
    assert isinstance(refused(site, "east"), JournalCut)


def test_another_journal_of_the_same_length_is_noticed(site: Site) -> None:
    """By the name; and if that was exchanged as well, by the tail marks."""
    other = Site()
    delivered(Room("two", other.store(), surroundings("two"), SimKafka({0: list(FATES)})))
    site.places["east"].shelf = other.places["east"].shelf
    assert isinstance(refused(site, "east"), JournalForeign)
    site.lake.delete(NAME)
    site.lake.create(NAME, other.lake.read(NAME) or b"")
    assert isinstance(refused(site, "east"), MarkerWrong)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"format": 2}, EntryNewer),
        ({"format": 2, "more": 1}, EntryNewer),
        ({"feed": "other"}, PlaceDamaged),
        ({"lake": "other"}, PlaceDamaged),
        ({"incarnation": 2}, PlaceDamaged),
        ({"more": 1}, PlaceDamaged),
        (None, PlaceDamaged),
    ],
)
def test_a_name_that_cannot_be_read_stops_the_feed(
    site: Site, change: dict[str, object] | None, error: type[PenstockError]
) -> None:
    found = msgspec.json.decode(site.lake.read(NAME) or b"")
    site.lake.delete(NAME)
    raw = b"{" if change is None else msgspec.json.encode(found | change)
    site.lake.create(NAME, raw)
    for place in ("east", "west", ""):
        assert isinstance(refused(site, place), error)


@pytest.mark.parametrize(("before", "after"), [("", "east"), ("east", "west"), ("east", "")])
def test_a_journal_can_be_moved(before: str, after: str) -> None:
    """As docs/stores.md says: copy it, then write its place down. The former one is refused."""
    site = Site()
    room = site.room(before)
    owner = an_owner(room)
    owner.run_window()
    site.move(before, after)
    if before:
        site.name(after)
    else:
        bind = room.journal().require(0).sha256
        place = JournalPlace(1, "feed", LAKE, 1, after, bind)
        site.lake.create(NAME, msgspec.json.encode(place))
    assert isinstance(refused(site, before), JournalElsewhere | JournalUnnamed)
    delivered(site.room(after))
    assert rows(site.lake, "a") == [(0, 0), (0, 2)]
    assert audit(site.room(after).journal()).verdict == "ok"


ENTRY_0, ENTRY_1 = LAYOUT.entry(0), LAYOUT.entry(1)


@pytest.mark.parametrize("what", [What.DIE_BEFORE, What.DIE_AFTER])
@pytest.mark.parametrize("key", [ENTRY_0, NAME, ENTRY_1])
@pytest.mark.parametrize("place", ["east", "west", ""])
def test_a_first_start_that_dies_is_followed_by_the_next(what: What, key: str, place: str) -> None:
    """The name is what decides: whoever starts next with another place is refused from then on."""
    site = Site()
    fault = Fault("create", what, key)
    first = site.room("east", *[fault] * (key != NAME), lake=(fault,) * (key == NAME))
    with pytest.raises(Died):
        an_owner(first)
    has_name = site.lake.head(NAME) is not None
    assert has_name == ((key, what) in [(NAME, What.DIE_AFTER)] or key == ENTRY_1)
    if has_name and place != "east":
        assert isinstance(refused(site, place), JournalElsewhere)
        return
    delivered(site.room(place))
    assert rows(site.lake, "a") == [(0, 0), (0, 2)]
    assert audit(site.room(place).journal()).verdict == "ok"
    if place != "east" and site.places["east"].head(ENTRY_0) is not None:
        assert isinstance(refused(site, "east"), JournalElsewhere)


def test_a_reply_to_the_name_that_was_lost_is_looked_up() -> None:
    site = Site()
    delivered(site.room(lake=(Fault("create", What.FAIL_AFTER, NAME),)))
    assert rows(site.lake, "b") == [(0, 1)]


def test_no_claim_without_a_name() -> None:
    """The lake does not answer while it is to be named: entry 0 is alone, and nothing is lost."""
    site = Site()
    faults = [Fault("create", What.FAIL_BEFORE, NAME, nth=nth) for nth in range(1, 9)]
    with pytest.raises(OutcomeUnknown, match="the lake's store"):
        an_owner(site.room(lake=tuple(faults)))
    assert list_keys(site.places["east"], LAYOUT.journal) == [ENTRY_0]
    assert kinds(site.room()) == ["Bind"]
    delivered(site.room())


def test_while_the_journal_does_not_answer_nothing_staged_is_judged(site: Site) -> None:
    """Goal: a lake without its journal is not cleaned. Method: garbage, and a store is down."""
    leftover(site.room(), "0-7")
    staged = site.lake.shelf.staged
    assert staged
    down = [Fault(call, What.FAIL_BEFORE) for call in ("read", "list_objects", "head")]
    for call in (garbage, clean):
        with pytest.raises(StoreUnavailable, match="the journal's store east"):
            call(site.room("east", *down).journal())
    assert site.lake.shelf.staged == staged
    assert clean(site.room().journal()).staged == 1
    assert not site.lake.shelf.staged


def test_a_wrong_place_is_not_cleaned_either(site: Site) -> None:
    leftover(site.room(), "0-7")
    for place in ("west", ""):
        with pytest.raises(JournalElsewhere):
            clean(site.room(place).journal())
    assert site.lake.shelf.staged


def test_what_was_decided_shows_when_the_lake_is_back() -> None:
    site = Site()
    number = decided_only(an_owner(site.room()))
    with pytest.raises(StoreUnavailable, match="the lake's store"):
        an_owner(site.room(lake=(Fault("list_objects", What.FAIL_BEFORE),)))
    assert number in site.room().journal().open().state.undone
    delivered(site.room())
    assert rows(site.lake, "a") == [(0, 0), (0, 2)]


def test_a_journal_in_the_lake_costs_one_look_more_in_all_its_life() -> None:
    """Goal: whoever needs none of this pays nothing. Method: count the requests for the name."""
    site = Site()
    room = site.room("")
    delivered(room)
    room.journal().open()
    assert isinstance(room.store, FaultStore)
    assert sum(NAME in line for line in room.store.log) == 1
