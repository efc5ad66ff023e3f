"""Any history of a feed: a checkpoint changes nothing but the time that an opening takes."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from penstock.care.clean import clean
from penstock.care.seek import Approval, accept_gaps, seek_all, unpark
from penstock.errors import EntryRefused, Fenced
from penstock.model.entries import Park
from penstock.model.ranges import TopicPartition
from penstock.protocol.journal.checkpoints import write_checkpoint
from tests.helpers.journals import a_room, an_owner, covered
from tests.simulator.kafka import BAD, FILTERED, TOPIC_ID, SimKafka
from tests.simulator.programs import compactor, replayer, retirer

# Histories: many short words, each an act of somebody who uses the journal as intended.
ACTS = st.sampled_from(
    [
        *("window", "decide", "grow", "claim", "sleeper", "checkpoint", "clean"),
        *("seek", "back", "gap", "park", "unpark", "compact", "retire", "replay"),
    ]
)


class History:
    """One feed whose acts may be refused or fenced; that is part of a history."""

    def __init__(self) -> None:
        fates = ["a", "b", BAD, "a", FILTERED, "b", "a", "a"] * 4
        kafka = SimKafka({0: fates, 1: fates[::-1]}, {0: 3, 1: 2})
        self.room = a_room(kafka)
        self.sleeper = self.owner = an_owner(self.room, checkpoint_every=4)

    def act(self, name: str, partition: int, amount: int) -> None:
        """Do one thing; whatever is refused changes nothing."""
        with suppress(EntryRefused, Fenced):
            getattr(self, f"_{name}")(partition, amount)

    def _window(self, _partition: int, _amount: int) -> None:
        self.owner.run_window()

    def _sleeper(self, _partition: int, _amount: int) -> None:
        self.sleeper.run_window()

    def _decide(self, _partition: int, _amount: int) -> None:
        """Decide and die before publishing."""
        owner = self.owner
        order = owner.plan()
        if order is not None:
            staged = owner.stage(order)
            owner.decide(order, staged, owner.prove(order, staged))

    def _grow(self, partition: int, amount: int) -> None:
        latest = self.room.kafka.latest
        latest[partition] = min(latest[partition] + amount, 32)

    def _claim(self, _partition: int, amount: int) -> None:
        self.sleeper = self.owner
        self.owner = an_owner(self.room, checkpoint_every=1 + amount)

    def _at(self, partition: int) -> int:
        place = TopicPartition(TOPIC_ID, partition)
        return self.room.journal().open().state.watermarks().get(place, 0)

    def _seek(self, partition: int, amount: int) -> None:
        self._seek_to(partition, self._at(partition) + amount)

    def _back(self, partition: int, amount: int) -> None:
        self._seek_to(partition, self._at(partition) - amount)

    def _seek_to(self, partition: int, offset: int) -> None:
        offset = min(offset, self.room.kafka.latest[partition])
        place = TopicPartition(TOPIC_ID, partition)
        seek_all(self.room.journal(), {place: offset}, Approval("me", "test"))

    def _gap(self, partition: int, amount: int) -> None:
        at = self._at(partition)
        end = min(at + amount, self.room.kafka.latest[partition])
        lost = covered(at, max(at, end), partition)
        accept_gaps(self.room.journal(), [lost], Approval("me", "test"))

    def _park(self, partition: int, _amount: int) -> None:
        owner = self.owner
        self.room.journal().append(owner.fold, Park("ab"[partition], 0, "test"), owner.epoch)

    def _unpark(self, partition: int, _amount: int) -> None:
        unpark(self.room.journal(), self.room.around, "ab"[partition], "me")

    def _compact(self, partition: int, _amount: int) -> None:
        compactor("ab"[partition])(self.room)

    def _retire(self, partition: int, _amount: int) -> None:
        retirer("ab"[partition])(self.room)

    def _replay(self, partition: int, _amount: int) -> None:
        replayer("ab"[partition])(self.room)

    def _clean(self, _partition: int, _amount: int) -> None:
        clean(self.room.journal())

    def _checkpoint(self, _partition: int, _amount: int) -> None:
        write_checkpoint(self.room.journal(), self.owner.fold.state)


@given(st.lists(st.tuples(ACTS, st.integers(0, 1), st.integers(1, 5)), max_size=25))
def test_a_checkpoint_only_saves_time(acts: list[tuple[str, int, int]]) -> None:
    """Goal: opening from a checkpoint and folding everything give the same state.

    Method: any history through the real owner and the real commands, with checkpoints, claims,
    deaths and refusals anywhere in it; then both ways to open.
    """
    history = History()
    for act in acts:
        history.act(*act)
        journal = history.room.journal()
        light = journal.open().state
        assert light == journal.open(deep=True).state
        assert journal.notices == []
        for known in (known for topic in light.partitions.values() for known in topic.values()):
            assert known.floor >= 0
            assert known.last_offset < known.floor or known.last_offset == -1
