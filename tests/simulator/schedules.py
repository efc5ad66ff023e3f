"""Directed schedules: the sleepers, cuts and foreign hands that a fuzzer would seldom meet.

Each is a function without arguments that raises `AssertionError` (a `Violation` is one) when the
protocol does not survive it. Z numbers are those of the fault catalogue.
"""

from collections.abc import Callable
from contextlib import suppress

import msgspec

from penstock.errors import JournalError, OutcomeUnknown
from penstock.model.entries import FORMAT, Window
from penstock.model.envelope import Claim
from penstock.model.layout import Layout
from penstock.ports.store.create_once import PAUSES_S
from penstock.ports.store.discard_windows import discard_each, staged_of
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.wire import open_entry, seal
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.tidying import TidyOrder
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.protocol.publish.troubles import PublishPolicy
from penstock.testing.memory_store import Act, MemoryStore, Shelf
from tests.helpers.older_formats import checkpoint_of_fold_1
from tests.simulator.compaction_schedules import COMPACTION_SCHEDULES
from tests.simulator.final_schedules import FINAL_SCHEDULES
from tests.simulator.kafka import BAD, MISFIT, SimKafka, SimSource
from tests.simulator.kind_schedules import KIND_SCHEDULES
from tests.simulator.lane_schedules import LANE_SCHEDULES
from tests.simulator.oracle import DONE, JOURNAL, TAIL
from tests.simulator.process import Process
from tests.simulator.programs import (
    FEED,
    Room,
    cleaner,
    compactor,
    corrector,
    directory_compactor,
    owner,
    replayer,
    retirer,
    seeker,
    surroundings,
    tidier,
)
from tests.simulator.world import World, unparker

Schedule = Callable[[], None]
CHECKPOINTS = f"{Layout(FEED).checkpoints}/"


def _entry(number: int) -> str:
    return f"{JOURNAL}{number:020}.json"


def _world(*partitions: list[str]) -> World:
    fates = partitions or (["a", "a", "b"], ["a", "b"])
    return World(SimKafka(dict(enumerate(fates))))


def _ended(world: World, name: str, code: str) -> None:
    result = world.run(name)
    assert result == code, f"{name} ended with {result}, not with {code}"


def at_window(act: Act) -> bool:
    """About to decide a window."""
    return act.name == "create" and act.key.startswith(JOURNAL) and b'"kind":"window"' in act.data


def at_link(act: Act) -> bool:
    """About to show a file."""
    return act.name == "link"


def at_unlink(act: Act) -> bool:
    """About to consume a staged file."""
    return act.name == "unlink"


def at_discard(act: Act) -> bool:
    """About to throw a staged file away."""
    return act.name == "discard"


def at_decision(act: Act) -> bool:
    """About to write any journal entry."""
    return act.name == "create" and act.key.startswith(JOURNAL)


def z1_old_owner_paused_before_its_append() -> None:
    """The old owner finds its number taken, sees the newer claim, and leaves without effect."""
    world = _world()
    world.spawn("old", owner())
    world.run_until("old", at_window)
    world.spawn("new", owner())
    world.run("new")
    before = world.shelf.objects
    _ended(world, "old", "FENCED")
    assert world.shelf.objects == before, "a fenced owner changed something"
    world.settle()


def z2_two_owners_start_together() -> None:
    """Fifty ways to interleave two starts, in lock step with growing head starts."""
    for lead in range(50):
        world = _world()
        world.spawn("one", owner())
        world.spawn("two", owner())
        for _ in range(lead):
            if world.processes["one"].is_alive:
                world.go("one")
        while any(process.is_alive for process in world.processes.values()):
            for name, process in list(world.processes.items()):
                if process.is_alive:
                    world.go(name)
        world.settle()


def z3_old_owner_paused_inside_publish() -> None:
    """Both bring the same decided window to its end; there is one file each."""
    for when in (at_link, at_unlink):
        world = _world()
        world.spawn("old", owner())
        world.run_until("old", when)
        world.spawn("new", owner())
        world.run("new")
        world.run("old")
        world.settle()


def z4_old_owner_resumes_after_its_files_were_replaced() -> None:
    """Compaction and retention removed what the sleeper is about to show: nothing comes back."""
    for command in (compactor("a"), retirer("a")):
        for when in (at_link, at_unlink):
            world = _world(["a", "a", "a"], ["a"])
            world.spawn("old", owner())
            world.run_until("old", when)
            world.spawn("new", owner())
            world.run("new")
            world.spawn("command", command)
            assert world.run("command") == "decided"
            world.run("old")
            world.settle()


def z5_cleaner_resumes_late() -> None:
    """A cleaner with an old view removes nothing that anybody refers to."""
    world = _world()
    world.spawn("dead", owner())
    world.run_until("dead", at_window)
    world.crash("dead")
    world.spawn("next", owner(max_windows=0))
    world.run("next")
    world.spawn("cleaner", cleaner())
    world.run_until("cleaner", at_discard)
    world.spawn("new", owner())
    world.run_until("new", at_link)
    world.run("cleaner")
    world.run("new")
    world.settle()


def z5_tidying_resumes_late() -> None:
    """A thread that tidies for an owner sleeps at each of its requests and comes back too late.

    Meanwhile its owner goes on with its next windows, or is fenced and followed; a file that is
    staged and parked is still needed.
    """
    acts = _tidying_acts()
    assert {act.name for act in acts} >= {"list_staged", "create", "delete"}
    for at in range(len(acts)):
        for is_fenced in (False, True):
            _tidy_after(at, is_fenced=is_fenced)


def _tidy_after(at: int, *, is_fenced: bool) -> None:
    world, order = _with_order()
    world.spawn("thread", tidier(order))
    for _ in range(at):
        world.go("thread")
    world.run_until("owner", at_link)
    if is_fenced:
        world.spawn("next", owner(checkpoint_every=2))
        world.run("next")
    world.run("thread")
    world.run("owner")
    if is_fenced:
        world.spawn("again", tidier(order))
        world.run("again")
    _mend(world)


def _with_order() -> tuple[World, TidyOrder]:
    """An owner with a parked dataset that has handed out what to tidy, and is at its next window.

    It is about to decide that window, so everything of it is staged.
    """
    orders: list[TidyOrder] = []
    world = _world(["a"] * 8, ["b"] * 8)
    parked_soon = PublishPolicy(tries=2, retry_after_s=0.0)
    world.spawn("owner", owner(checkpoint_every=6, publish=parked_soon, hand_out=orders.append))
    world.run_until("owner", at_link)
    pending = world.processes["owner"].pending
    assert pending is not None
    world.oracle.planted.add(pending.other)
    world.put(pending.other, b"[]", "plants a foreign file at")
    while not orders:
        world.go("owner")
    assert world.oracle.story(world.shelf).parked == {"a@files"}
    world.run_until("owner", at_window)
    return world, orders[0]


def _tidying_acts() -> list[Act]:
    """The requests of a thread that tidies."""
    world, order = _with_order()
    thread = world.spawn("thread", tidier(order))
    acts = []
    while thread.pending is not None:
        acts.append(thread.pending)
        world.go("thread")
    return acts


def _mend(world: World) -> None:
    """The foreign files go, and everything has to arrive."""
    for key in sorted(world.oracle.planted):
        world.put(key, None, "removes the foreign file at")
    world.oracle.planted.clear()
    world.settle()


def what_a_window_in_doubt_has_staged_is_kept() -> None:
    """No answer came to a decision that lands later; its owner goes on, and cleans around it."""
    owners: list[Owner] = []

    def stubborn(room: Room) -> str:
        spec = OwnerSpec(room.name, WindowPolicy(2), files="parquet")
        source = SimSource(room.kafka, room.store, room.around)
        mine = Owner(room.journal(), source, room.around, spec)
        owners.append(mine)
        mine.take_over()
        with suppress(OutcomeUnknown):
            mine.run_window()
        mine.run_window()
        return "went on"

    def cleaning(room: Room) -> str:
        is_garbage = owners[0].own_windows.is_garbage
        refs = staged_of(room.store, Layout(FEED).staging, (), is_garbage)
        return f"removed {discard_each(room.store, refs)}"

    world = _world(["a", "a", "b"])
    world.spawn("owner", stubborn)
    world.run_until("owner", at_window)
    world.delay("owner")  # the first try lands later
    for _ in PAUSES_S:
        world.run_until("owner", at_window)
        world.fail("owner")
    world.run_until("owner", at_window)  # of its next window
    world.spawn("thread", cleaning)
    world.run("thread")
    world.deliver()
    _ended(world, "owner", "went on")
    world.settle()


def z7_an_owner_that_cannot_claim_does_nothing() -> None:
    """No permission to append: nothing is read, staged or published."""
    world = _world()
    world.spawn("barred", owner())
    world.run_until("barred", at_decision)
    while world.processes["barred"].is_alive:
        world.fail("barred")
    ended = world.processes["barred"].ended
    assert ended is not None
    assert ended.result == "OUTCOME_UNKNOWN", ended
    assert not world.shelf.staged
    assert not world.shelf.objects
    world.settle()


def z8_old_owner_resumes_after_many_checkpoints() -> None:
    """However far the journal has moved on, the sleeper's number is still taken."""
    for when in (at_decision, at_window, at_link):
        world = _world(["a"] * 8, ["b"] * 8)
        world.spawn("old", owner())
        world.run_until("old", when)
        world.spawn("new", owner(checkpoint_every=2, max_windows=20))
        world.run("new")
        world.run("old")
        world.settle()


def z9_publisher_paused_between_check_and_link() -> None:
    """One attempt sleeps before its link, another dies before its unlink, a third completes.

    Once with every answer, and once the third has to look whether its own unlink happened.
    """
    for fails in (False, True):
        world = _world(["a", "a"], ["a"])
        world.spawn("sleeper", owner())
        world.run_until("sleeper", at_link)
        world.spawn("second", owner())
        world.run_until("second", at_unlink)
        world.crash("second")
        world.spawn("third", owner())
        world.run_until("third", at_unlink)
        if fails:
            world.fail("third")
        world.run("third")
        world.spawn("compactor", compactor("a"))
        assert world.run("compactor") == "decided"
        world.run("sleeper")
        world.settle()


def z10_latest_is_resolved_once() -> None:
    """`start: latest`, a crash before the first decision, and records that came in between."""
    world = World(SimKafka({0: ["a"] * 4}, {0: 2}))
    latest = owner(first_offset=lambda _topic, _partition, offsets: offsets.latest)
    world.spawn("first", latest)
    world.run("first")  # resolves, finds nothing to read, and stops
    world.kafka.latest[0] = 3
    world.spawn("second", latest)
    world.run_until("second", lambda act: act.name == "stage")
    world.crash("second")
    world.kafka.latest[0] = 4
    world.spawn("third", latest)
    world.run("third")
    world.settle()
    rows = world.oracle.story(world.shelf).live_rows
    assert rows == {(0, 2), (0, 3)}, f"delivered {sorted(rows)}"


def z10_latest_is_held_although_nothing_was_decided() -> None:
    """The same, with the crash in the very first window."""
    world = World(SimKafka({0: ["a"] * 4, 1: ["b"] * 2}, {0: 2, 1: 0}))
    first = owner(first_offset=lambda _t, partition, o: o.latest if partition == 0 else o.earliest)
    world.kafka.latest[1] = 2
    world.spawn("first", first)
    world.run_until("first", lambda act: act.name == "stage")
    world.crash("first")
    world.kafka.latest[0] = 4
    world.spawn("second", first)
    world.run("second")
    world.settle()
    rows = world.oracle.story(world.shelf).live_rows
    assert {(0, 2), (0, 3)} <= rows, f"delivered {sorted(rows)}"


def z11_cleaner_beside_a_live_owner() -> None:
    """What the newest epoch has staged and not decided is not touched."""
    world = _world()
    world.spawn("owner", owner())
    world.run_until("owner", at_window)
    staged = dict(world.shelf.staged)
    world.spawn("cleaner", cleaner())
    world.run("cleaner")
    assert world.shelf.staged == staged, "the cleaner touched the newest epoch"
    world.run("owner")
    world.settle()


def z12_two_overlapping_replays() -> None:
    """The second replay of the same records is refused by the journal."""
    world = _world(["a", BAD, "a"], [BAD])
    world.spawn("owner", owner())
    world.run("owner")
    world.spawn("one", replayer("a"))
    world.run_until("one", at_decision)
    world.spawn("two", replayer("b"))
    assert world.run("two") == "decided"
    assert world.run("one").startswith("refused")
    world.settle()


def at_corrected_bytes(act: Act) -> bool:
    """About to put corrected bytes into the lake."""
    return act.name == "create" and "/corrections/" in act.key


def a_correction_that_dies_is_repeated() -> None:
    """Wherever it dies, the records are delivered once, and the bytes that they had are there."""
    for when in (at_corrected_bytes, at_decision, at_link, at_unlink):
        for answered in (False, True):
            world = _world(["a", BAD, "a"], [BAD])
            world.spawn("owner", owner())
            world.run("owner")
            world.spawn("fix", corrector("a"))
            world.run_until("fix", when)
            if answered:
                world.go("fix")
            world.crash("fix")
            world.spawn("again", corrector("a"))
            world.run("again")
            world.settle()
            story = world.oracle.story(world.shelf)
            assert not story.quarantined
            assert len(story.corrected) == 1


def a_correction_whose_reply_is_lost_keeps_its_bytes() -> None:
    """The entry landed and names them."""
    world = _world(["a", BAD, "a"], [BAD])
    world.spawn("owner", owner())
    world.run("owner")
    world.spawn("fix", corrector("a"))
    world.run_until("fix", at_decision)
    world.lose_reply("fix")
    assert world.run("fix") == "decided"
    world.settle()


def a_correction_beside_a_replay() -> None:
    """The second one is refused, and leaves no corrected bytes that an entry does not name."""
    for first, second in ((replayer("b"), corrector("a")), (corrector("b"), corrector("a"))):
        world = _world(["a", BAD, "a"], [BAD])
        world.spawn("owner", owner())
        world.run("owner")
        world.spawn("two", second)
        world.run_until("two", at_decision)
        world.spawn("one", first)
        assert world.run("one") == "decided"
        assert world.run("two").startswith("refused")
        world.settle()
        kept = {key for key in world.shelf.objects if "/corrections/" in key}
        assert kept == set(world.oracle.story(world.shelf).corrected)


def z12_two_overlapping_compactions() -> None:
    """So is the second compaction of the same files."""
    world = _world(["a", "a"], ["a"])
    world.spawn("owner", owner())
    world.run("owner")
    world.spawn("one", compactor("a"))
    world.run_until("one", at_decision)
    world.spawn("two", compactor("a"))
    assert world.run("two") == "decided"
    assert world.run("one").startswith("refused")
    world.settle()


def a_planned_compaction_goes_on_beside_windows_and_claims() -> None:
    """What was planned is still there: a window is no obstacle, and a claim builds it again."""
    for meanwhile in (owner(), owner(max_windows=1)):
        world = _world(["a", "a", "b"], ["a"])
        world.spawn("owner", owner(max_windows=1))
        world.run("owner")
        world.spawn("second", owner(max_windows=1))
        world.run("second")
        world.spawn("compact", directory_compactor("a"))
        world.run_until("compact", at_decision)
        world.spawn("third", meanwhile)
        world.run("third")
        assert world.run("compact") == "decided"
        world.settle()


def z12_two_compactions_planned_of_the_same_files() -> None:
    """The second one wants all of its files or none, and decides nothing."""
    world = _world(["a", "a"], ["a"])
    world.spawn("owner", owner())
    world.run("owner")
    world.spawn("one", directory_compactor("a"))
    world.run_until("one", at_decision)
    world.spawn("two", directory_compactor("a"))
    assert world.run("two") == "decided"
    assert world.run("one").startswith("refused")
    world.settle()
    assert not world.shelf.staged


def reset_beside_a_live_owner() -> None:
    """A seek invalidates a window that was planned before it; the owner plans again."""
    world = _world(["a"] * 5)
    world.spawn("owner", owner())
    world.run_until("owner", at_window)
    world.spawn("seek", seeker(0, 3))
    assert world.run("seek") == "decided"
    world.run("owner")
    world.settle()
    assert world.oracle.story(world.shelf).skipped == {(0, 0), (0, 1), (0, 2)}


def reply_to_a_decision_is_lost() -> None:
    """An owner whose entry landed recognises it by its nonce, and throws nothing away."""
    world = _world()
    world.spawn("owner", owner())
    world.run_until("owner", at_window)
    world.lose_reply("owner")
    world.run("owner")
    world.settle()


def a_decision_without_an_answer_is_not_cleaned_up() -> None:
    """The owner never learns, stops, and leaves its staged files; the decision lands later."""
    world = _world()
    world.spawn("owner", owner())
    world.run_until("owner", at_window)
    while (pending := world.processes["owner"].pending) is not None:
        if at_window(pending):
            world.delay("owner")
        else:
            world.go("owner")
    ended = world.processes["owner"].ended
    assert ended is not None
    assert ended.result == "OUTCOME_UNKNOWN", ended.result
    world.deliver()
    world.spawn("new", owner())
    world.run("new")
    world.settle()


def cleaner_beside_a_recovery() -> None:
    """What a dead owner decided and did not publish is of an old epoch, and is needed."""
    world = _world()
    world.spawn("dead", owner())
    world.run_until("dead", at_link)
    world.crash("dead")
    world.spawn("next", owner())
    world.run_until("next", at_link)
    world.spawn("cleaner", cleaner())
    world.run("cleaner")
    world.run("next")
    world.settle()


def a_decision_lands_after_a_newer_claim() -> None:
    """A request that was held for long arrives when its number is taken: nothing changes."""
    world = _world()
    world.spawn("old", owner())
    world.run_until("old", at_window)
    world.delay("old")
    world.crash("old")
    world.spawn("new", owner())
    world.run("new")
    before = world.shelf.mark
    world.deliver()
    assert world.shelf.mark == before, "a late request changed something"
    world.settle()


def a_decision_lands_after_its_owner_died() -> None:
    """It was nobody's number yet: the window is decided after all, and the next owner ends it."""
    world = _world()
    world.spawn("old", owner())
    world.run_until("old", at_window)
    world.delay("old")
    world.crash("old")
    world.deliver()
    world.spawn("new", owner())
    world.run("new")
    world.settle()


def foreign_file_under_a_final_name() -> None:
    """It is never overwritten, never taken for ours; the dataset is parked until it is gone."""
    world = _world(["a", "a"], ["b", "b"])
    world.spawn("owner", owner())
    world.run_until("owner", at_link)
    pending = world.processes["owner"].pending
    assert pending is not None
    world.oracle.planted.add(pending.other)
    world.put(pending.other, b"[]", "plants a foreign file at")
    world.run("owner")
    assert world.oracle.story(world.shelf).parked == {"a@files"}, "the dataset should be parked"
    assert world.shelf.objects[pending.other] == b"[]", "the foreign file was overwritten"
    world.put(pending.other, None, "removes the foreign file at")
    world.oracle.planted.clear()
    world.settle()


def a_dataset_stops_at_records_that_do_not_fit() -> None:
    """It shows what came before, and goes on after a person's word, whoever owns it meanwhile."""
    world = _world(["a", "a", MISFIT, "a"], ["b", "b", "b", "b"])
    world.spawn("first", owner())
    world.run_until("first", lambda act: at_window(act) and b'"stops":{"a"' in act.data)
    world.delay("first")
    world.crash("first")
    world.deliver()
    shown = sum(key.startswith("feed/a/") for key in world.shelf.objects)
    world.spawn("second", owner())
    world.run("second")
    assert world.oracle.story(world.shelf).stopped_at.keys() == {"a"}
    assert sum(key.startswith("feed/a/") for key in world.shelf.objects) == shown, "it went on"
    world.spawn("person", unparker("a"))
    world.run("person")
    world.spawn("third", owner())
    world.run("third")
    assert sum(key.startswith("feed/a/") for key in world.shelf.objects) > shown, "it stands still"
    world.settle()


def a_word_comes_while_the_next_misfit_is_read() -> None:
    """It is about what had come by then: the records that are decided after it stop it again."""
    world = _world([MISFIT, "a", MISFIT, "a"])
    world.spawn("owner", owner())
    world.run_until("owner", at_window)
    world.go("owner")
    world.run_until("owner", at_window)
    world.spawn("person", unparker("a"))
    world.run("person")
    world.run("owner")
    assert world.oracle.story(world.shelf).stopped_at.keys() == {"a"}
    world.settle()


def staged_files_lost_after_the_decision() -> None:
    """Lost staged files are derived again from the source, with the same rows."""
    world = _world(["a", "b", "a"], ["b", "a", "b"])
    world.spawn("dead", owner())
    world.run_until("dead", at_link)
    world.crash("dead")
    for key in sorted(world.shelf.staged):
        world.lose(key)
    world.spawn("new", owner())
    world.run("new")
    assert world.oracle.story(world.shelf).replaced
    world.settle()


def _run_unwatched(world: World, name: str, until: Callable[[Act], bool]) -> None:
    """Run without the oracle, because what was broken from outside is not mended yet."""
    while (pending := world.processes[name].pending) is not None and not until(pending):
        answer, world.shelf = world.shelf.perform(pending)
        world.record.append(f"{name} {pending}")
        world.processes[name].resume(answer)


def _delivered(checkpoint_every: int = 100) -> World:
    world = _world(["a", "a", "b"], ["b", "b"])
    world.spawn("first", owner(checkpoint_every=checkpoint_every))
    world.run("first")
    return world


def _refuses(world: World) -> None:
    """Everybody who opens this journal must stop, and leave everything as it is."""
    for name, program in (
        ("owner", owner()),
        ("cleaner", cleaner()),
        ("compactor", compactor("a")),
    ):
        before = world.shelf.mark
        process: Process = world.spawn(name, program)
        _run_unwatched(world, name, until=lambda act: not act.is_read)
        assert process.pending is None, f"{name} goes on with {process.pending}"
        assert process.ended is not None
        assert isinstance(process.ended.error, JournalError), process.ended.result
        assert world.shelf.mark == before


def journal_cut_at_the_tail() -> None:
    """The last entries are gone, the markers are not."""
    world = _delivered()
    last = world.oracle.story(world.shelf).number
    world.put(_entry(last), None, "removes")
    _refuses(world)


def journal_restored_from_an_older_backup() -> None:
    """Journal and markers are older than the data: the tail mark beside the data tells.

    Also when the owner has pruned its marks after every window.
    """
    for checkpoint_every in (100, 1):
        world = _delivered(checkpoint_every)
        last = world.oracle.story(world.shelf).number
        for number in (last, last - 1):
            world.put(_entry(number), None, "restores an older copy without")
            world.put(f"{DONE}{number:020}.json", None, "restores an older copy without")
            world.put(f"{CHECKPOINTS}{number:020}.json", None, "restores an older copy without")
        _refuses(world)


def journal_cut_and_grown_again() -> None:
    """The tail was cut while an owner slept, which then put another entry in its place."""
    world = _delivered()
    story = world.oracle.story(world.shelf)
    raw = world.shelf.objects[_entry(story.number)]
    sealed = open_entry(FEED_BOOK, _entry(story.number), story.number, raw)
    other, _ = seal(msgspec.structs.replace(sealed.entry, nonce="f" * 32))
    world.put(_entry(story.number), other, "puts another entry in the place of")
    _refuses(world)


def journal_gone() -> None:
    """Data without a journal is never a first start."""
    world = _delivered()
    for key in [k for k in world.shelf.objects if k.startswith("_penstock/")]:
        world.put(key, None, "removes")
    _refuses(world)


def journal_entry_edited_and_rehashed() -> None:
    """An entry in the middle was changed by somebody who knows how to hash."""
    world = _delivered()
    for number in range(world.oracle.story(world.shelf).number):
        raw = world.shelf.objects[_entry(number)]
        sealed = open_entry(FEED_BOOK, _entry(number), number, raw)
        if isinstance(sealed.body, Window):
            edited, _ = seal(msgspec.structs.replace(sealed.entry, at="1999"))
            world.put(_entry(number), edited, "edits and hashes again")
            world.shelf = _without_marks(world.shelf, number)
            break
    _refuses(world)


def journal_entry_missing_in_the_middle() -> None:
    """A hole."""
    world = _delivered()
    world.put(_entry(2), None, "removes")
    _refuses(world)


def journal_entry_missing_where_no_marker_tells() -> None:
    """A hole among entries that have no markers: only what lies behind it can tell."""
    world = _world(["a"])
    for name in ("first", "second"):
        world.spawn(name, owner(max_windows=0))
        world.run(name)
    world.put(_entry(1), None, "removes")
    for key in [key for key in world.shelf.objects if key.startswith(TAIL)]:
        world.put(key, None, "removes")
    _refuses(world)


def journal_entry_of_a_newer_version() -> None:
    """Somebody runs a newer Penstock here: nothing is read as if it were known."""
    world = _delivered()
    last = world.oracle.story(world.shelf).number
    sealed = open_entry(FEED_BOOK, _entry(last), last, world.shelf.objects[_entry(last)])
    claim = msgspec.structs.replace(
        sealed.entry,
        format=FORMAT + 1,
        number=last + 1,
        previous=sealed.sha256,
        epoch=sealed.entry.epoch + 1,
        body=Claim("newer"),
    )
    world.put(_entry(last + 1), seal(claim)[0], "appends, with a newer version,")
    _refuses(world)


def checkpoint_of_an_older_version() -> None:
    """It lacks what the present fold knows; that comes from the entries, and all goes on."""
    world = World(SimKafka({0: ["a"] * 5, 1: ["b"] * 5}, {0: 4, 1: 4}))
    world.spawn("older", owner(first_offset=lambda _t, _p, offsets: offsets.latest - 2))
    world.run("older")
    whole = _state(world)
    key = f"_penstock/feed/checkpoints/{whole.number:020}.json"
    world.put(key, checkpoint_of_fold_1(whole), "leaves, with an older version,")
    assert _state(world) == whole, "it was not completed"
    world.kafka.latest.update({0: 5, 1: 5})
    world.settle()


def _state(world: World) -> FeedState:
    store = MemoryStore()
    store.shelf = world.shelf
    return Room("reader", store, surroundings("reader"), world.kafka).journal().open().state


def _without_marks(shelf: Shelf, number: int) -> Shelf:
    """So that only the chain can tell."""
    for key in (f"{DONE}{number:020}.json", f"{TAIL}{number:020}.json"):
        shelf = shelf.with_object(key, None)
    return shelf


SCHEDULES: tuple[Schedule, ...] = (
    z1_old_owner_paused_before_its_append,
    a_decision_without_an_answer_is_not_cleaned_up,
    z2_two_owners_start_together,
    z3_old_owner_paused_inside_publish,
    z4_old_owner_resumes_after_its_files_were_replaced,
    z5_cleaner_resumes_late,
    z5_tidying_resumes_late,
    what_a_window_in_doubt_has_staged_is_kept,
    z7_an_owner_that_cannot_claim_does_nothing,
    z8_old_owner_resumes_after_many_checkpoints,
    z9_publisher_paused_between_check_and_link,
    z10_latest_is_resolved_once,
    z10_latest_is_held_although_nothing_was_decided,
    z11_cleaner_beside_a_live_owner,
    z12_two_overlapping_replays,
    a_correction_that_dies_is_repeated,
    a_correction_whose_reply_is_lost_keeps_its_bytes,
    a_correction_beside_a_replay,
    z12_two_overlapping_compactions,
    z12_two_compactions_planned_of_the_same_files,
    a_planned_compaction_goes_on_beside_windows_and_claims,
    cleaner_beside_a_recovery,
    reset_beside_a_live_owner,
    reply_to_a_decision_is_lost,
    a_decision_lands_after_a_newer_claim,
    a_decision_lands_after_its_owner_died,
    foreign_file_under_a_final_name,
    a_dataset_stops_at_records_that_do_not_fit,
    a_word_comes_while_the_next_misfit_is_read,
    staged_files_lost_after_the_decision,
    journal_cut_at_the_tail,
    journal_restored_from_an_older_backup,
    journal_cut_and_grown_again,
    journal_gone,
    journal_entry_edited_and_rehashed,
    journal_entry_missing_in_the_middle,
    journal_entry_missing_where_no_marker_tells,
    journal_entry_of_a_newer_version,
    checkpoint_of_an_older_version,
    *LANE_SCHEDULES,
    *KIND_SCHEDULES,
    *FINAL_SCHEDULES,
    *COMPACTION_SCHEDULES,
)
