"""Creating an object waits between its tries, so that a short outage does not become a doubt."""

from dataclasses import replace

import pytest

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.ports.store.create_once import PAUSES_S, create_once
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import a_room, an_owner

KEY = "journal/1"


class Overloaded(MemoryStore):
    """Answers no create until some time has passed, as a store that asks to slow down."""

    def __init__(self, busy_s: float) -> None:
        super().__init__()
        self.now = 0.0
        self._busy_s = busy_s

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    def create(self, key: str, data: bytes) -> bool:
        """Answer once the burst is over."""
        if self.now < self._busy_s:
            raise OutcomeUnknown("create", key, "503 Slow Down")
        return super().create(key, data)


def test_a_burst_of_refusals_is_waited_out() -> None:
    store = Overloaded(busy_s=sum(PAUSES_S))
    assert create_once(store, KEY, b"mine", store.sleep) is None
    assert store.read(KEY) == b"mine"


def test_the_pauses_grow_and_end() -> None:
    store = Overloaded(busy_s=1e9)
    waited: list[float] = []
    with pytest.raises(OutcomeUnknown):
        create_once(store, KEY, b"mine", waited.append)
    assert waited == list(PAUSES_S) == sorted(PAUSES_S)
    assert sum(waited) < 5


def test_what_is_answered_is_not_waited_for() -> None:
    waited: list[float] = []
    store = MemoryStore()
    assert create_once(store, KEY, b"mine", waited.append) is None
    assert create_once(store, KEY, b"mine", waited.append) is None
    assert create_once(store, KEY, b"other", waited.append) == b"mine"
    down = FaultStore(store, [Fault("read", What.FAIL_BEFORE)])
    with pytest.raises(StoreUnavailable):
        create_once(_Refusing(), KEY, b"mine", waited.append)
    assert waited == []
    assert create_once(down, KEY, b"mine", waited.append) is None
    assert waited == [PAUSES_S[0]]


class _Refusing(MemoryStore):
    def create(self, key: str, data: bytes) -> bool:
        raise StoreUnavailable("create", key, "no permission")


class _Busy(Overloaded):
    """Busy again whenever something is published."""

    def publish(self, handle: StagedHandle) -> None:
        super().publish(handle)
        self.now = 0.0


def test_a_window_survives_a_burst_at_its_entry_its_mark_and_its_marker() -> None:
    store = _Busy(busy_s=1.0)
    room = a_room(store=store)
    room = replace(room, around=replace(room.around, sleep=store.sleep))
    owner = an_owner(room)
    store.now = 0.0
    assert owner.run_window()
    assert not room.journal().open().state.undone
