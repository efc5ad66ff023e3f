"""Directed schedules of journals elsewhere: one store is down, two configurations, moved journals.

With the rules that they show to be needed.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import msgspec

from penstock.errors import PenstockError
from penstock.ports.store.create_once import create_once
from penstock.protocol.journal import journal as journal_room
from penstock.protocol.journal import journal_place
from penstock.protocol.journal.journal_place import settle_place
from penstock.testing.memory_store import Act, Shelf
from tests.simulator.kafka import SimKafka
from tests.simulator.mutations import Catch, Mutation
from tests.simulator.oracle import JOURNAL
from tests.simulator.place_worlds import (
    LAKE,
    NAME,
    PLACES,
    PlaceWorld,
    first_place_violation,
    home,
)
from tests.simulator.programs import FEED, cleaner, owner
from tests.simulator.two_stores import (
    TwoStoreWorld,
    first_two_store_violation,
    of_journal,
    of_lake,
)

Schedule = Callable[[], None]


def at_entry(number: int) -> Callable[[Act], bool]:
    """Just before an entry is created, at whatever place."""
    return lambda act: act.name == "create" and act.key.endswith(f"{JOURNAL}{number:020}.json")


def at_name(act: Act) -> bool:
    """Just before the lake is told where the journal lies."""
    return act.name == "create" and act.key == NAME


def _two_stores() -> TwoStoreWorld:
    return TwoStoreWorld(SimKafka({0: ["a", "b", "a"], 1: ["a"]}))


def _places() -> PlaceWorld:
    return PlaceWorld(SimKafka({0: ["a", "b", "a"]}))


def the_journal_is_down_when_a_window_is_decided() -> None:
    """Nothing of it shows; what was published stays; the next owner delivers it all."""
    world = _two_stores()
    world.spawn("one", owner())
    world.run_until("one", lambda act: at_entry(4)(act))
    data = _data(world.shelf)
    world.broken = of_journal
    assert world.run("one") in ("OUTCOME_UNKNOWN", "STORE_UNAVAILABLE")
    assert _data(world.shelf) == data
    world.settle()


def one_of_two_first_starts_is_overtaken_while_it_looks() -> None:
    """It finds rows and no journal of its own; the cause it gets is that the lake names another."""
    world = _places()
    world.start("slow", "west")
    world.run_until("slow", lambda act: act.name == "list" and act.key == FEED)
    world.start("quick", "east")
    world.run("quick")
    assert world.visible(world.shelf)
    assert world.run("slow") == "JOURNAL_ELSEWHERE"
    world.settle()


def the_journal_is_down_after_a_window_was_published() -> None:
    """Files stay although no marker says so, and the next owner marks them."""
    world = _two_stores()
    world.spawn("one", owner())
    world.run_until("one", lambda act: act.name == "create" and "/done/" in act.key)
    data = _data(world.shelf)
    assert data
    world.broken = of_journal
    assert world.run("one") in ("OUTCOME_UNKNOWN", "STORE_UNAVAILABLE")
    world.spawn("two", owner())
    assert world.run("two") == "STORE_UNAVAILABLE"
    assert _data(world.shelf) == data
    world.settle()


def the_lake_is_down_while_the_journal_answers() -> None:
    """What is decided shows later; whoever starts meanwhile is told, and decides nothing."""
    world = _two_stores()
    world.spawn("one", owner())
    world.run_until("one", lambda act: act.name in ("link", "complete"))
    world.broken = of_lake
    assert world.run("one") in ("OUTCOME_UNKNOWN", "STORE_UNAVAILABLE")
    entries = _entries(world.shelf)
    world.spawn("two", owner())
    assert world.run("two") == "STORE_UNAVAILABLE"
    assert _entries(world.shelf) == entries
    world.settle()


def nothing_staged_is_judged_while_the_journal_is_down() -> None:
    """A cleaner that cannot read the journal removes nothing, however old it is."""
    world = _two_stores()
    world.spawn("one", owner())
    world.run_until("one", at_entry(3))
    world.crash("one")
    world.spawn("two", owner(max_windows=0))
    world.run("two")
    assert world.shelf.staged
    before = world.shelf
    for down in (of_journal, of_lake):
        world.broken = down
        world.spawn("clean", cleaner())
        assert world.run("clean") in ("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN")
        assert world.shelf is before
    world.broken = lambda _act: False
    world.run_alone("clean", cleaner())
    assert not world.shelf.staged
    world.settle()


def two_first_starts_with_different_configurations() -> None:
    """In lock step with growing head starts: one decides where the journal lies, or none does."""
    for one, two in [("east", "west"), ("east", LAKE), (LAKE, "west"), ("east", "east")]:
        for lead in range(40):
            world = _places()
            world.start("one", one)
            world.start("two", two)
            for _ in range(lead):
                if world.processes["one"].is_alive:
                    world.go("one")
            while any(process.is_alive for process in world.processes.values()):
                for name, process in list(world.processes.items()):
                    if process.is_alive:
                        world.go(name)
            world.settle()


def a_first_start_dies_around_the_name() -> None:
    """Entry 0 without a name is nobody's journal yet; the next start goes on, wherever it is."""
    for when, lands in ((at_entry(0), False), (at_name, False), (at_name, True)):
        for place in PLACES:
            world = _places()
            world.start("one", "east")
            world.run_until("one", when)
            if lands:
                world.lose_reply("one")
            world.crash("one")
            world.start("two", place)
            result = world.run("two")
            assert result.startswith("JOURNAL_") == (lands and place != "east"), (place, result)
            world.settle()


def a_first_start_sleeps_before_it_is_named() -> None:
    """The other has run for long when it wakes: tail marks were pruned, and still it is refused."""
    for sleeper, runner in (("east", "west"), ("east", LAKE), (LAKE, "east")):
        for when in (at_entry(0), at_name, at_entry(1)):
            if sleeper == LAKE and when is at_name:
                continue  # it names nothing
            world = _places()
            world.start("sleeper", sleeper)
            world.run_until("sleeper", when)
            world.start("runner", runner, owner(max_records=1, checkpoint_every=2))
            world.run("runner")
            world.run("sleeper")
            world.settle()


def a_moved_journal_is_not_used_where_it_was() -> None:
    """A copy is left behind at the former place; who is still told that place is refused."""
    for before, after in ((LAKE, "east"), ("east", "west"), ("east", LAKE)):
        world = _places()
        world.start("one", before)
        world.run("one")
        _move(world, before, after)
        world.kafka.partitions[0].append("a")
        world.kafka.latest[0] += 1
        shelf = world.shelf
        world.start("two", before)
        assert world.run("two") in ("JOURNAL_ELSEWHERE", "JOURNAL_UNNAMED")
        assert world.shelf is shelf
        world.start("three", after)
        assert world.run("three").startswith("idle")
        assert len(world.visible(world.shelf)) == 4


def a_journal_in_use_that_the_lake_does_not_name_is_refused() -> None:
    """The lake was restored without its tail marks, or another one is mounted."""
    world = _places()
    world.start("one", "east")
    world.run("one")
    world.shelf = world.shelf.with_object(NAME, None)
    world.damaged = True
    world.start("two", "east")
    assert world.run("two") == "JOURNAL_UNNAMED"
    world.start("three", "west")
    assert world.run("three") == "JOURNAL_MISSING"


def another_journal_at_the_same_place_is_refused() -> None:
    """The journal was removed, and a feed of that name was started anew beside another lake."""
    world, other = _places(), _places()
    for each in (world, other):
        each.start("first of " + ("one" if each is world else "two"), "east")
        each.run_until(next(iter(each.processes)), at_entry(2))
        each.crash(next(iter(each.processes)))
    for key in [k for k in world.shelf.objects if k.startswith(home("east"))]:
        world.shelf = world.shelf.with_object(key, other.shelf.objects[key])
    for key in [k for k in world.shelf.objects if k.startswith("feed/_tail/0")]:
        world.shelf = world.shelf.with_object(key, None)
    world.damaged = True
    world.start("two", "east")
    assert world.run("two") == "JOURNAL_FOREIGN"


def _move(world: PlaceWorld, before: str, after: str) -> None:
    """What an operator does; the former copy stays, and the name says the new place."""
    shelf = world.shelf
    for key, raw in list(shelf.objects.items()):
        if key.startswith(home(before)):
            shelf = shelf.with_object(home(after) + key.removeprefix(home(before)), raw)
    bind = shelf.objects[f"{home(after)}{JOURNAL}{0:020}.json"]
    sha256 = msgspec.json.decode(bind)["hash"]
    place = journal_place.JournalPlace(1, "feed", "lake-1", 1, after, sha256)
    shelf = shelf.with_object(NAME, msgspec.json.encode(place) if after else None)
    world.shelf = shelf
    world.damaged = True
    world.check_step = lambda *_: None  # type: ignore[method-assign]  # both copies are in use


def _data(shelf: Shelf) -> list[str]:
    return sorted(k for k in shelf.objects if k.startswith("feed/") and "/_tail/" not in k)


def _entries(shelf: Shelf) -> list[str]:
    return sorted(k for k in shelf.objects if k.startswith(JOURNAL))


PLACE_SCHEDULES: tuple[Schedule, ...] = (
    one_of_two_first_starts_is_overtaken_while_it_looks,
    the_journal_is_down_when_a_window_is_decided,
    the_journal_is_down_after_a_window_was_published,
    the_lake_is_down_while_the_journal_answers,
    nothing_staged_is_judged_while_the_journal_is_down,
    two_first_starts_with_different_configurations,
    a_first_start_dies_around_the_name,
    a_first_start_sleeps_before_it_is_named,
    a_moved_journal_is_not_used_where_it_was,
    a_journal_in_use_that_the_lake_does_not_name_is_refused,
    another_journal_at_the_same_place_is_refused,
)


def _without_looking(journal: Any, bind: str, sleep: Any) -> None:
    """As `settle_place`; what is named already is not looked at."""
    store, layout, mine = journal.store, journal.layout, journal_place.place_of(journal.store)
    if mine:
        place = journal_place.JournalPlace(1, layout.feed, journal.lake, 1, mine, bind)
        create_once(store, layout.journal_place, msgspec.json.encode(place), sleep)


def _only_elsewhere(journal: Any, bind: str, sleep: Any) -> None:
    """As `settle_place`; a journal in the lake does not look for a name."""
    if journal_place.place_of(journal.store):
        settle_place(journal, bind, sleep)


def _patch(where: object, name: str, new: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(where, name, new)


def _nothing(*_args: object, **_kwargs: object) -> None:
    return None


PLACE_MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "place: entry 1 waits until the lake names the journal",
        _patch(journal_room, "settle_place", _nothing),
    ),
    Mutation(
        "place: what the lake names is compared before entry 1",
        _patch(journal_room, "settle_place", _without_looking),
    ),
    Mutation(
        "place: a journal in the lake looks for a name before entry 1",
        _patch(journal_room, "settle_place", _only_elsewhere),
    ),
    Mutation(
        "place: a journal elsewhere looks for one in the lake",
        _patch(journal_place, "_refuse_one_in_lake", _nothing),
    ),
    Mutation(
        "place: an opened journal is the one that the lake names",
        _patch(journal_room, "check_named", _nothing),
    ),
    Mutation(
        "place: a journal in use is named, by its first entry",
        _patch(journal_room, "check_bound", _nothing),
    ),
)


def catch_place(mutation: Mutation, seeds: int = 300) -> Catch:
    """Run the directed schedules, then random ones, until something breaks."""
    with mutation.switch_off():
        for tried, schedule in enumerate(PLACE_SCHEDULES, 1):
            try:
                schedule()
            except (AssertionError, PenstockError) as error:
                return Catch(mutation.rule, schedule.__name__, str(error), tried)
        why = first_place_violation(seeds) or first_two_store_violation(seeds)
    by, _, what = why.partition(": ")
    return Catch(mutation.rule, by, what or "nothing noticed", seeds)
