# ruff: noqa: S101  -- these are tests; they assert
"""The part of the contract about staged files: invisible, then visible once, and never over."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import msgspec
import pytest

from penstock.api.store import Store
from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone
from penstock.model.names import CompactedName, FileName, GatheredName
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.testing.fault_store import Fault, FaultStore, What

_staged_handle_decoder = msgspec.json.Decoder(StagedHandle)

STAGING = "staging/feed"
DATA_PREFIXES = ("lake", "others")
DAY = "lake/clicks/day=2024-02-29"
PUBLISHERS = 8


def file_name(topic: str = "clicks", window: str = "0-1") -> str:
    """The name of a data file that this window writes; a store may have to parse it."""
    return str(FileName(0, topic, 3, 0, 10, window, "zstd.parquet"))


FINAL = f"{DAY}/{file_name()}"


def stage(
    store: Store, final: str, data: bytes, attempt: str = "t0", window: str = "0-1"
) -> StagedHandle:
    """Stage some bytes in two writes. The final name carries the window."""
    writer = store.open_staged(final, StagingSpot(STAGING, window, attempt))
    half = len(data) // 2
    assert writer.write(data[:half]) == half
    assert writer.write(data[half:]) == len(data) - half
    return writer.finish()


def discard_all(store: Store) -> None:
    """Discard everything that is staged."""
    for ref in staged(store):
        store.discard(ref)


def staged(store: Store) -> list[StagedRef]:
    """Everything that is staged and sent."""
    return list(store.list_staged(STAGING, DATA_PREFIXES))


def distinct(refs: Iterable[StagedRef]) -> int:
    """How many different things these are."""
    return len({(ref.place, *sorted(ref.proof.items())) for ref in refs})


class StagedContract:
    """Tests of open_staged, look, publish, list_staged and discard.

    On some object stores a file that was staged before a stranger's object under its name was
    deleted may be lost: such a store says so with `StagedGone`, and its tests set
    `publishes_after_a_delete` to False.
    """

    publishes_after_a_delete = True

    def test_a_staged_file_is_invisible_until_it_is_published(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        assert store.read(FINAL) is None
        assert list_keys(store, "lake") == []
        store.publish(handle)
        assert store.read(FINAL) == b"rows"
        assert list_keys(store, "lake") == [FINAL]

    def test_a_handle_says_what_was_written(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        assert handle.store == store.kind
        assert handle.final == FINAL
        assert handle.size_bytes == 4
        assert handle.checksum

    def test_what_was_published_is_done(self, store: Store, second_store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        store.publish(handle)
        assert second_store.look(handle).is_done
        assert staged(second_store) == []

    def test_publishing_again_changes_nothing(self, store: Store, second_store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        store.publish(handle)
        store.publish(handle)
        second_store.publish(handle)
        assert list_keys(store, "lake") == [FINAL]
        assert store.look(handle).is_done

    def test_many_publishers_at_once_make_one_file_and_all_return(
        self, store: Store, second_store: Store
    ) -> None:
        names = [f"lake/{file_name(str(n))}" for n in range(1, 6)]
        handles = [stage(store, name, b"rows" * n, f"t{n}") for n, name in enumerate(names, 1)]
        barrier = Barrier(PUBLISHERS)

        def race(number: int) -> None:
            barrier.wait()
            for handle in handles:
                (store if number % 2 else second_store).publish(handle)

        with ThreadPoolExecutor(PUBLISHERS) as pool:
            list(pool.map(race, range(PUBLISHERS)))
        assert list_keys(store, "lake") == [handle.final for handle in handles]
        assert all(store.look(handle).is_done for handle in handles)

    def test_a_lost_reply_to_a_publish_is_found_by_looking(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        faulty = FaultStore(store, [Fault("publish", What.FAIL_AFTER)])
        with pytest.raises(OutcomeUnknown):
            faulty.publish(handle)
        assert faulty.look(handle).is_done
        faulty.publish(handle)

    def test_a_late_publish_cannot_bring_back_what_was_done_and_deleted(
        self, store: Store, second_store: Store
    ) -> None:
        handle = stage(store, FINAL, b"rows")
        sleeper = FaultStore(store, [Fault("publish", What.DELAY)])
        with pytest.raises(OutcomeUnknown):
            sleeper.publish(handle)
        second_store.publish(handle)
        second_store.delete(FINAL)
        assert sleeper.deliver() == 1
        assert store.read(FINAL) is None

    @pytest.mark.parametrize("foreign", [b"another", b"ROWS", b""])
    def test_a_foreign_file_is_refused_and_both_are_kept(
        self, store: Store, foreign: bytes
    ) -> None:
        """One of them has the size of ours."""
        handle = stage(store, FINAL, b"rows")
        store.create(FINAL, foreign)
        with pytest.raises(ForeignFile):
            store.publish(handle)
        assert store.read(FINAL) == foreign
        assert store.look(handle) == Sighting(final=FinalState.FOREIGN, staged=True)

    def test_a_file_is_published_after_a_foreign_one_was_deleted_or_known_to_be_lost(
        self, store: Store
    ) -> None:
        handle = stage(store, FINAL, b"rows")
        store.create(FINAL, b"another")
        store.delete(FINAL)
        try:
            store.publish(handle)
        except StagedGone:
            assert not self.publishes_after_a_delete
            assert store.look(handle).is_lost
            assert store.read(FINAL) is None
        else:
            assert store.look(handle).is_done
            assert store.read(FINAL) == b"rows"

    def test_many_are_published_at_once_and_what_failed_is_named(
        self, store: Store, second_store: Store
    ) -> None:
        folders = [f"lake/{kind}/day={day}" for kind in "ab" for day in (1, 2)]
        days = [f"{folder}/{file_name()}" for folder in folders]
        handles = [stage(store, final, final.encode(), f"t{n}") for n, final in enumerate(days)]
        others = [f"{folder}/{file_name('others')}" for folder in folders]
        handles += [stage(store, final, b"rows", f"u{n}") for n, final in enumerate(others)]
        store.create(days[0], b"foreign")
        store.publish(handles[1])
        gone = stage(store, f"lake/{file_name('gone')}", b"rows", "gone")
        store.discard(StagedRef(gone.staged, "0-1", gone.proof))
        assert store.publish_all([*handles, gone]) == {days[0], gone.final}
        assert all(second_store.look(handle).is_done for handle in handles[1:])
        assert store.read(days[0]) == b"foreign"
        assert second_store.look(handles[0]).staged, "what failed is kept"
        assert store.publish_all(handles[1:]) == set(), "again, and nothing happens"
        assert store.publish_all([]) == set()

    def test_nothing_staged_and_nothing_visible_is_reported_as_gone(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        discard_all(store)
        with pytest.raises(StagedGone):
            store.publish(handle)
        assert store.look(handle).is_lost
        assert store.read(FINAL) is None

    def test_a_foreign_file_is_foreign_also_when_nothing_is_staged(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        discard_all(store)
        store.create(FINAL, b"another")
        with pytest.raises(ForeignFile):
            store.publish(handle)
        assert store.look(handle) == Sighting(final=FinalState.FOREIGN, staged=False)

    def test_a_look_before_the_publish_shows_only_the_staged_file(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        assert store.look(handle) == Sighting(final=FinalState.ABSENT, staged=True)

    def test_a_handle_goes_through_json_to_another_client(
        self, store: Store, second_store: Store
    ) -> None:
        text = msgspec.json.encode(stage(store, FINAL, b"rows"))
        handle = _staged_handle_decoder.decode(text)
        second_store.publish(handle)
        assert store.look(handle).is_done
        assert store.read(FINAL) == b"rows"

    def test_discarding_again_or_after_the_publish_is_fine(self, store: Store) -> None:
        handle = stage(store, FINAL, b"rows")
        stage(store, FINAL, b"rows of another attempt", "t1")
        refs = staged(store)
        store.publish(handle)
        for ref in [*refs, *refs]:
            store.discard(ref)
        assert staged(store) == []
        assert store.read(FINAL) == b"rows"

    def test_attempts_that_were_sent_and_never_finished_are_listed_with_their_window(
        self, store: Store, second_store: Store
    ) -> None:
        for window, attempt in (("0-1", "t0"), ("0-1", "t1"), ("1-0", "t0")):
            final = f"{DAY}/{file_name(window=window)}"
            writer = store.open_staged(final, StagingSpot(STAGING, window, attempt))
            writer.write(b"rows")
            writer.sync()
        refs = staged(second_store)
        assert sorted(ref.window for ref in refs) == ["0-1", "0-1", "1-0"]
        assert distinct(refs) == 3
        discard_all(second_store)
        assert staged(store) == []

    def test_every_form_of_file_is_listed_with_its_window(self, store: Store) -> None:
        """Over several partitions, of several windows, of commands and of the quarantine."""
        gathered = str(GatheredName(2, "clicks", 0, 12, 7, "3-14", "snappy.orc"))
        compacted = CompactedName(0, "clicks", "1-7", "3-x0f", 0, "3-0ab", "zstd.parquet")
        names = {
            f"lake/a/by_kind=%3A%20/{gathered}": "3-14",
            f"lake/b/day=2026-11-15/{compacted}": "3-0ab",
            f"lake/a/{file_name(window='3-0f1c')}": "3-0f1c",
            f"others/owner=__HIVE_DEFAULT_PARTITION__/dataset=a/{file_name(window='2-9')}": "2-9",
        }
        for number, (final, window) in enumerate(names.items()):
            stage(store, final, b"rows", f"t{number}", window)
        assert sorted(ref.window for ref in staged(store)) == sorted(names.values())

    def test_only_what_is_staged_below_the_prefixes_is_listed(self, store: Store) -> None:
        for feed in ("web", "web2", "web/deeper"):
            spot = StagingSpot(f"staging/{feed}", "0-1", "t0")
            store.open_staged(f"{feed}/a/{file_name()}", spot).finish()
        assert len(list(store.list_staged("staging/web2", ["web2"]))) == 1
        assert list(store.list_staged("staging/we", ["we", "web2/b"])) == []
        assert list(store.list_staged("staging/nowhere", ["nowhere"])) == []

    def test_of_two_attempts_at_one_file_one_is_discarded_and_the_other_published(
        self, store: Store, second_store: Store
    ) -> None:
        kept = stage(store, FINAL, b"rows", "t0")
        other = stage(store, FINAL, b"rows of another attempt", "t1")
        second_store.discard(StagedRef(other.staged, "0-1", other.proof))
        assert distinct(staged(store)) == 1
        assert not store.look(other).staged
        second_store.publish(kept)
        assert store.read(FINAL) == b"rows"
        assert store.look(other) == Sighting(final=FinalState.FOREIGN, staged=False)

    @pytest.mark.parametrize("is_sent", [False, True])
    def test_an_abandoned_attempt_leaves_nothing(self, store: Store, is_sent: bool) -> None:
        writer = store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
        writer.write(b"half a fi")
        if is_sent:
            writer.sync()
        writer.abandon()
        writer.abandon()
        assert staged(store) == []

    def test_giving_up_after_the_finish_does_not_destroy_the_file(self, store: Store) -> None:
        """A clean-up in a `finally` must not undo what a decision may already refer to."""
        writer = store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
        writer.write(b"rows")
        handle = writer.finish()
        writer.abandon()
        store.publish(handle)
        assert store.read(FINAL) == b"rows"

    @pytest.mark.parametrize("size_bytes", [0, 1, 20 * 1024 * 1024])
    def test_a_staged_file_of_any_size_arrives_whole(self, store: Store, size_bytes: int) -> None:
        data = (b"0123456789abcdef" * (size_bytes // 16 + 1))[:size_bytes]
        handle = stage(store, FINAL, data)
        store.publish(handle)
        assert handle.size_bytes == size_bytes
        assert store.look(handle).is_done
        assert store.read(FINAL) == data
