"""The deep audit of parts of a lake with a history, and of more than it works out.

Limits choose what is read. They must neither raise an alarm about what is left out, nor keep damage
in what is chosen from being told.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from penstock.audit import suspect_areas as areas
from penstock.care.replay import drop, live_records, replay
from penstock.care.replay_stager import ReplayStager
from penstock.care.seek import Approval, accept_gaps, rebind
from penstock.datapath.schemas.learning import Learning
from penstock.model.convert_spec import Condition
from penstock.model.entries import Drop
from penstock.model.fork import ForkSpec
from penstock.model.manifest import QUARANTINE
from penstock.model.spec import DecodeSpec, FeedSpec
from penstock.runtime.parallel import in_this_process
from tests.helpers.deep_receipts import receipt, told
from tests.helpers.doctored_lakes import (
    SPEC,
    DoctoredLake,
    event,
    events,
    lose,
    offsets_in,
    rewrite,
    without,
)
from tests.helpers.journals import LAYOUT, an_owner, begins, covered, decided_only
from tests.helpers.lakes_on_disk import ShreddedSource
from tests.simulator.kafka import TOPIC

SPREAD = msgspec.structs.replace(SPEC, decode=DecodeSpec(spread=True))
FORKED = msgspec.structs.replace(
    SPEC, forks=(ForkSpec("large", (Condition("n", least=30),)),), decode=DecodeSpec(spread=True)
)


def array(count: int, first: int = 0) -> bytes:
    """Clicks and orders in turn, as one record."""
    each = [event(("click", "order")[n % 2], first + n) for n in range(count)]
    return b"[" + b",".join(each) + b"]"


@pytest.fixture
def a_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., DoctoredLake]:
    """Makes a lake of these payloads."""

    def make(payloads: list[bytes | None], spec: FeedSpec = SPEC) -> DoctoredLake:
        found = DoctoredLake(tmp_path, payloads, max_records=60, spec=spec)
        found.plain_tools(monkeypatch)
        return found

    return make


def replayed(lake: DoctoredLake, feed: FeedSpec = SPREAD) -> None:
    """Deliver what the quarantine holds and can be read now."""
    room = lake.room([])
    learning = Learning(lake.store, LAYOUT, feed, None)
    decode = ReplayStager(feed, lake.store, learning, in_this_process, room.around)
    replay(room.journal(), room.around, "me", decode)


def with_gap(lake: DoctoredLake) -> None:
    """Ten records are given up, and ten more delivered."""
    room = lake.room([])
    accept_gaps(room.journal(), [covered(50, 60)], Approval("ann", "expired"))
    lake.source.payloads += events(20)
    lake.run(60)
    lake.kafka = type(lake.kafka)(lake.source)


def with_second_life(lake: DoctoredLake) -> None:
    """The topic was made again, and has records at the same offsets."""
    room = lake.room([])
    start = msgspec.structs.replace(begins(0, 0), topic_id="topic-id-2")
    accepted = Approval("ann", "made again")
    rebind(room.journal(), room.around, TOPIC, begins(0, 0).topic_id, (start,), accepted)
    lake.source = ShreddedSource(lake.store, SPEC, events(20), "topic-id-2")
    lake.run(60)
    lake.kafka = type(lake.kafka)(lake.source)


def with_drop(lake: DoctoredLake) -> None:
    room = lake.room([])
    records = live_records(room.journal().open(deep=True))
    assert isinstance(drop(room.journal(), room.around, records, "ann", "junk").body, Drop)


def with_undone_window(lake: DoctoredLake) -> None:
    """A window is decided, and nothing of it is visible."""
    lake.source.payloads += [event("click", n) for n in range(20)]
    decided_only(an_owner(lake.room([]), lake.source, max_records=60))
    lake.kafka = type(lake.kafka)(lake.source)


HISTORIES: dict[str, tuple[FeedSpec, Callable[[DoctoredLake], None]]] = {
    "nothing": (SPEC, lambda _lake: None),
    "gap": (SPEC, with_gap),
    "rebind": (SPEC, with_second_life),
    "drop": (SPEC, with_drop),
    "forks": (FORKED, lambda _lake: None),
    "replay": (SPEC, replayed),
    "undone": (SPEC, with_undone_window),
}
LIMITS = [
    (),
    ("--since", "2027-01-15T07:59:59Z"),
    ("--since", "2027-01-15T08:00:01Z"),
    ("--dataset", "click"),
    ("--dataset", QUARANTINE),
    ("--dataset", "order", "--since", "2027-01-15T07:59:59Z"),
]


@pytest.mark.parametrize("limits", LIMITS, ids=" ".join)
@pytest.mark.parametrize(("spec", "history"), HISTORIES.values(), ids=HISTORIES)
def test_whatever_has_happened_a_limited_audit_raises_no_alarm_and_misses_no_damage(
    a_lake: Callable[..., DoctoredLake],
    capsys: pytest.CaptureFixture[str],
    spec: FeedSpec,
    history: Callable[[DoctoredLake], None],
    limits: tuple[str, ...],
) -> None:
    lake = a_lake([*events(45), *[array(4, 10 * n) for n in range(5)]], spec)
    history(lake)
    whole = receipt(lake, capsys, *limits)
    assert whole["differences"] == []
    victim = lake.data("order")[0]
    rewrite(victim, without(offsets_in(victim)[3]))
    [difference] = receipt(lake, capsys, *limits, code=4)["differences"]
    assert difference["file"] == lake.key(victim)
    is_read = "order" in limits or not limits or limits[-1].endswith("59Z")
    assert difference["kind"] == ("file_rows" if is_read else "file_size")
    assert bool(difference["offsets"]) == is_read


@pytest.mark.parametrize("row", [0, 2])
def test_a_row_that_is_lost_from_a_replayed_file_is_named(
    a_lake: Callable[..., DoctoredLake], capsys: pytest.CaptureFixture[str], row: int
) -> None:
    """Row 0 of such a record lies in the quarantine, too, and belongs there."""
    lake = a_lake([*events(40), *[array(4, 10 * n) for n in range(6)]])
    replayed(lake)
    [victim] = lake.data("click", "1-x")
    rewrite(victim, lose(41, row))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[41, 42]]}}


def test_a_replayed_file_that_is_gone_and_a_quarantined_row_that_is_lost_are_named(
    a_lake: Callable[..., DoctoredLake], capsys: pytest.CaptureFixture[str]
) -> None:
    lake = a_lake([*events(40), *[array(4, 10 * n) for n in range(6)]])
    replayed(lake)
    [gone], [victim] = lake.data("click", "1-x"), lake.quarantined()
    gone.unlink()
    rewrite(victim, without(43))
    assert told(lake, capsys) == {
        lake.key(gone): {"missing": [[40, 46]]},
        lake.key(victim): {"missing": [[43, 44]]},
    }


@pytest.mark.parametrize("row", [10, 80])
def test_an_element_that_is_lost_from_a_long_array_is_named(
    a_lake: Callable[..., DoctoredLake], capsys: pytest.CaptureFixture[str], row: int
) -> None:
    """More row numbers than the journal names: those that the files have are tried as well."""
    lake = a_lake([array(100, 1000 * n) for n in range(6)], SPREAD)
    [victim] = lake.data("click")
    rewrite(victim, lose(3, row))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[3, 4]]}}


def test_rows_of_long_arrays_are_never_called_foreign_where_they_belong(
    a_lake: Callable[..., DoctoredLake],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Even if there are too many positions to try all: then it is said among which offsets."""
    lake = a_lake([array(100, 1000 * n) for n in range(6)], SPREAD)
    monkeypatch.setattr("penstock.audit.explain.MOST_POSITIONS", 6 * 65)
    [victim] = lake.data("click")
    rewrite(victim, lose(3, 80))
    [difference] = receipt(lake, capsys, code=4)["differences"]
    [part] = difference["offsets"]
    assert (part["fate"], part["runs"], part["count"], part["among"]) == (
        "missing", [[0, 6]], 1, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [
        ("MOST_POSITIONS", 30, "its ranges have 50 positions; the limit is 30"),
        ("MOST_AREAS", 0, "those of 0 other areas were"),
    ],
)
def test_it_is_said_when_offsets_were_not_worked_out(
    a_lake: Callable[..., DoctoredLake],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    limit: str,
    most: int,
    words: str,
) -> None:
    lake = a_lake([*events(50)])
    monkeypatch.setattr(areas, limit, most)
    victim = lake.data("click")[0]
    rewrite(victim, without(4))
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["file"], difference["offsets"]) == (lake.key(victim), [])
    assert difference["found"].endswith(f"; its offsets were not worked out: {words}")
