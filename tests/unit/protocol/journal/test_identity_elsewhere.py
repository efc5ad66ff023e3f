"""The lake's identity where journals have a store of their own: one id, whoever is faster."""

import pytest

from penstock.errors import PenstockError
from penstock.ports.store.split_store import SplitStore, split_store
from penstock.protocol.journal.errors import JournalForeign, LakeMissing
from penstock.protocol.journal.lake_identity import LAKE_KEY, known_identity, lake_identity
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from penstock.testing.memory_store import Act, Answer, MemoryStore, Shelf
from tests.helpers.journals import LAYOUT
from tests.simulator.programs import surroundings

ONE, TWO = surroundings("one"), surroundings("two")


def both(lake: MemoryStore, journal: MemoryStore) -> SplitStore:
    """Both as one."""
    return split_store(lake, journal, "memory://j")


def test_both_stores_have_the_id_and_whoever_asks_later_gets_it() -> None:
    lake, journal = MemoryStore(), MemoryStore()
    assert known_identity(both(lake, journal)) is None
    made = lake_identity(both(lake, journal), ONE)
    assert lake_identity(both(lake, journal), TWO) == made
    assert known_identity(both(lake, journal)) == made
    assert known_identity(lake) == made
    assert lake.read(LAKE_KEY) == journal.read(LAKE_KEY)


def test_a_lake_that_was_used_before_keeps_its_id() -> None:
    lake, journal = MemoryStore(), MemoryStore()
    made = lake_identity(lake, ONE)
    assert known_identity(both(lake, journal)) == made
    assert journal.read(LAKE_KEY) is None
    assert lake_identity(both(lake, journal), TWO) == made
    assert known_identity(journal) == made


@pytest.mark.parametrize("what", [What.DIE_BEFORE, What.DIE_AFTER])
@pytest.mark.parametrize("which", ["lake", "journal"])
def test_a_first_start_that_dies_is_followed_by_the_next(what: What, which: str) -> None:
    lake, journal = MemoryStore(), MemoryStore()
    fault = [Fault("create", what, LAKE_KEY)]
    dying = split_store(
        FaultStore(lake, fault if which == "lake" else ()),
        FaultStore(journal, fault if which == "journal" else ()),
        "memory://j",
    )
    with pytest.raises(Died):
        lake_identity(dying, ONE)
    begun = known_identity(journal)
    assert known_identity(both(lake, journal)) == known_identity(lake)
    made = lake_identity(both(lake, journal), TWO)
    assert made == (begun or made)
    assert known_identity(lake) == known_identity(journal) == made


def test_a_lake_whose_store_lets_all_creates_win_has_one_id_nevertheless() -> None:
    """Goal: nothing depends on an atomic create of the lake's store. Method: it overwrites."""
    lake, journal = Overwriting(), MemoryStore()
    one = both(lake, journal)
    lake.first = lambda: lake_identity(both(lake, journal), TWO)
    made = lake_identity(one, ONE)
    assert known_identity(one) == made == known_identity(lake)


class Overwriting(MemoryStore):
    """A store whose creates all win; somebody else comes first, once."""

    def __init__(self) -> None:
        super().__init__(self._overwrite)
        self.first: object = None

    def _overwrite(self, act: Act) -> Answer:
        first, self.first = self.first, None
        if act.name == "create" and callable(first):
            first()
        elif first is not None:
            self.first = first
        if act.name == "create":
            self.shelf = self.shelf.with_object(act.key, act.data)
            return True
        answer, self.shelf = self.shelf.perform(act)
        return answer


def test_a_journal_of_another_lake_is_refused() -> None:
    journal = MemoryStore()
    lake_identity(both(MemoryStore(), journal), ONE)
    other = MemoryStore()
    lake_identity(other, TWO)
    before = (other.shelf, journal.shelf)
    for ask in (known_identity, lambda store: lake_identity(store, TWO)):
        with pytest.raises(JournalForeign, match="'memory://j' is not that of this lake"):
            ask(both(other, journal))
    assert (other.shelf, journal.shelf) == before


def test_a_lake_that_is_not_there_is_not_made_again() -> None:
    """Goal: a lake that is not mounted is told. Method: an empty one beside a journal in use."""
    lake, journal = MemoryStore(), MemoryStore()
    lake_identity(both(lake, journal), ONE)
    journal.create("_penstock/probe/left", b"")
    assert lake_identity(both(MemoryStore(), journal), TWO) == known_identity(lake)
    journal.create(LAYOUT.entry(0), b"{}")
    empty = MemoryStore()
    for ask in (known_identity, lambda store: lake_identity(store, TWO)):
        with pytest.raises(LakeMissing) as error:
            ask(both(empty, journal))
        assert isinstance(error.value, PenstockError)
        assert "'memory://j' has '_penstock/feed/journal/0/" in str(error.value)
    assert empty.shelf.objects == Shelf.empty().objects


def test_a_first_start_that_is_faster_is_not_taken_for_a_lake_that_is_gone() -> None:
    lake, journal = MemoryStore(), MemoryStore()
    store = both(lake, journal)
    reads = []

    def late(act: Act) -> Answer:
        """Between our two looks at the lake another one starts and binds."""
        reads.append(act)
        if len(reads) == 1:
            lake_identity(both(MemoryStore(lake._perform), journal), TWO)
            journal.create(LAYOUT.entry(0), b"{}")
            return None
        return lake._perform(act)

    lake.ask = late
    assert known_identity(store) == known_identity(journal)
