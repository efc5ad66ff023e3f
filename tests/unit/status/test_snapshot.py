"""What status says, from a journal and a beat."""

import msgspec

from penstock.model.entries import LastRecord, Park
from penstock.model.envelope import Claim
from penstock.model.process_id import Process
from penstock.protocol.feed_book.feed_lease import FeedBeat, Note
from penstock.protocol.feed_book.state import FeedState
from penstock.status.snapshot import Ends, ends_of, snapshot
from tests.helpers.journals import BEGINNING, a_window, covered, told
from tests.simulator.kafka import TOPIC, TOPIC_ID

NOW_S = 1_800_000_000.0


def a_beat(*, released: bool = False, at: str = "2027-01-15T07:59:50.000+00:00") -> FeedBeat:
    note = Note(epoch=1, latest={TOPIC: {0: 9, 1: 5}}, looked_at="2027-01-15T07:59:49.000+00:00")
    return FeedBeat(1, 4, "host:1", Process("h", 1), at, "n", released=released, note=note)


def a_state() -> FeedState:
    window = msgspec.structs.replace(
        a_window(covered(0, 3)),
        last_records=(LastRecord(TOPIC_ID, 0, 2, 77, int((NOW_S - 120) * 1000)),),
    )
    return told(*BEGINNING, window, Park("a", 3, "it is foreign"))


def test_lag_is_counted_from_the_owners_last_look() -> None:
    beat = a_beat()
    found = snapshot("events", a_state(), beat, ends_of(beat), NOW_S)
    assert found.watermark == {TOPIC: {0: 3, 1: 5}}
    assert [p.lag_records for p in found.partitions] == [6, 0]
    assert (found.lag_records, found.lag_seconds) == (6, 120.0)
    assert found.as_of == "2027-01-15T07:59:49.000+00:00"
    assert found.as_of_age_s == 11.0
    assert found.freshness_seconds == 120.0
    assert found.counts.read == 3
    assert found.parked == {"a": "it is foreign"}
    assert found.owner_state == "running"


def test_what_is_not_known_is_not_guessed() -> None:
    found = snapshot("events", told(*BEGINNING), None, None, NOW_S)
    assert (found.lag_records, found.lag_seconds, found.freshness_seconds) == (None, None, None)
    assert (found.as_of, found.last_window, found.owner_state) == (None, None, "never ran")
    assert (found.last_window_age_s, found.left_quarantine) == (None, 0)


def test_an_owner_that_let_go_or_is_silent_is_told_apart() -> None:
    state = told(*BEGINNING, Claim("two"))
    silent = a_beat(at="2027-01-15T07:00:00.000+00:00")
    assert snapshot("e", state, silent, None, NOW_S).owner_state == "silent"
    assert snapshot("e", state, a_beat(released=True), None, NOW_S).owner_state == "stopped"


def test_ends_from_kafka_itself_win() -> None:
    found = snapshot("e", a_state(), a_beat(), Ends({TOPIC: {0: 3, 1: 5}}, "now"), NOW_S)
    assert (found.lag_records, found.lag_seconds, found.as_of) == (0, 0.0, "now")
