"""What the metrics of a feed say: from the journal, from its owner's beats, and from its run.

Goal: every figure is right, no counter falls, and what is not known has no sample. Method: real
feeds over a list of records and a store in memory; figures are compared with what happened.
"""

import re
from pathlib import Path

import msgspec
import pytest

from penstock.care.finalize import finalize_to
from penstock.model.debt import Debt
from penstock.model.entries import Window
from penstock.model.final_days import Frontier
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec, PublishSpec, QuarantineSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_lease import BEAT_FORMAT, FeedLease, last_beat
from penstock.protocol.journal.lease import Contender
from penstock.runtime.this_process import is_dead, this_process
from penstock.serve.feed_view import MetricOptions
from penstock.serve.metric_values import FEED_METRICS
from penstock.testing.list_source import die
from tests.helpers.journals import WatchedStore
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events
from tests.helpers.served_story import facts_of, figures_of, reader_of

DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"
PATIENT = msgspec.structs.replace(FEED, publish=PublishSpec(tries=3, retry_after_s=15.0))


@pytest.fixture
def story() -> Story:
    return Story()


def broken_story(*datasets: str) -> tuple[Story, WatchedStore]:
    """A story whose store does not publish these datasets."""
    story, store = Story(), WatchedStore()
    story.store, store.broken = store, set(datasets)
    return story, store


def test_counters_are_what_windows_did_by_dataset_and_reason(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 4), *events("order", 3), TORN)
    story.cluster.append(TOPIC, 1, *events("click", 2), b'{"n": 1}', b'{"type": "click", "n": 1}')
    assert story.run_once() == 0
    found = figures_of(story)
    assert found["records_read"] == 12
    assert found['records_written{dataset="click"}'] == 7
    assert found['records_written{dataset="order"}'] == 3
    quarantined = {key: value for key, value in found.items() if "quarantined" in key}
    assert quarantined == {
        'records_quarantined{dataset="_none",reason="NOT_JSON"}': 1,
        'records_quarantined{dataset="_none",reason="ROUTE_MISSING"}': 1,
    }
    files = [each for body in story.entries(Window) for each in body.content.files]
    assert found['files_published{dataset="click"}'] == sum(f.dataset == "click" for f in files)
    sizes = [each.handle.size_bytes for each in files if each.dataset == "order"]
    assert found['bytes_written{dataset="order"}'] == sum(sizes)
    assert found["records_filtered"] == 0
    assert found['windows{outcome="delivered"}'] == len(story.entries(Window))
    assert found["task_seconds"] > 0
    assert found['cost{currency="EUR"}'] == pytest.approx(found["task_seconds"])


def test_no_counter_of_the_journal_falls_through_restarts_and_failures() -> None:
    """A dataset that cannot be published, a job that fails, and readers old and new."""
    story, store = broken_story("order")
    reader = reader_of(story)
    lasting = re.compile(r"records_|bytes_|files_|task_|cost|.*delivered")
    before: dict[str, float] = {}
    for turn, kind in enumerate(("click", "order", "view", "order", "click")):
        story.cluster.append(TOPIC, turn % 2, *events(kind, 3), TORN)
        if turn == 2:
            story.cluster.on_read("middle", die)
        if turn == 3:
            store.broken = set()
        story.run_once(PATIENT)
        for each in (reader, reader_of(story)):
            found = figures_of(story, reader=each)
            counters = {key: value for key, value in found.items() if lasting.match(key)}
            assert before.keys() <= counters.keys()
            assert all(counters[key] >= value for key, value in before.items())
            before = counters
    assert before["records_read"] == 20
    assert before['records_quarantined{dataset="_none",reason="NOT_JSON"}'] == 5


def test_a_dataset_that_cannot_be_published_shows_as_hidden_spread_failing_and_parked() -> None:
    story, store = broken_story()
    story.cluster.append(TOPIC, 0, *events("click", 2), *events("order", 2))
    assert story.run_once(PATIENT) == 0
    published = figures_of(story)['files_published{dataset="order"}']
    store.broken = {"order"}
    story.clock.passes(100)
    story.cluster.append(TOPIC, 0, *events("click", 3), *events("order", 2))
    assert story.run_once(PATIENT) == 5
    found = figures_of(story)
    assert found["decided_offset"] == 9
    assert found['visible_offset{dataset="click"}'] == 9
    assert found['visible_offset{dataset="order"}'] == 4
    assert found["dataset_spread_records"] == 5
    assert found["undone_windows"] == 1
    assert found["parked_datasets"] == 1
    assert found['files_published{dataset="order"}'] == published
    assert found['publish_failures{dataset="order"}'] == 3
    assert found['publish_failures{dataset="click"}'] == 0
    assert found['publish_attempts{dataset="order"}'] == 3
    assert found['publish_attempts{dataset="click"}'] == 1
    newest_s = facts_of(story).status.freshness_seconds
    assert newest_s is not None
    assert found['freshness_seconds{dataset="click"}'] == pytest.approx(newest_s, abs=0.1)
    # The last order that is visible came with the first window, five records of a second earlier.
    assert found['freshness_seconds{dataset="order"}'] == pytest.approx(newest_s + 5, abs=0.1)
    # What is parked is set aside, so the window counts as done.
    window = story.entries(Window)[-1]
    assert found["last_done_timestamp_seconds"] == pytest.approx(facts_of(story).last_done_s)
    assert facts_of(story).status.last_window == window.window

    by_partition = figures_of(story, MetricOptions(partitions=True))
    place = f'partition="0",topic="{TOPIC}"'
    assert by_partition[f'visible_offset{{dataset="order",{place}}}'] == 4
    assert by_partition[f"dataset_spread_records{{{place}}}"] == 5
    assert by_partition[f'dataset_spread_records{{partition="1",topic="{TOPIC}"}}'] == 0

    store.broken = set()
    story.clock.passes(4000)
    assert story.run_once(PATIENT) == 0
    found = figures_of(story)
    assert (found["dataset_spread_records"], found["parked_datasets"]) == (0, 0)
    assert found['files_published{dataset="order"}'] == published + 1


def test_the_time_of_the_last_done_window_survives_restarts_that_deliver_nothing() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 2), *events("order", 2))
    assert story.run_once() == 0
    done = figures_of(story)["last_done_timestamp_seconds"]
    for _ in range(3):
        story.clock.passes(1000)
        story.cluster.append(TOPIC, 0, *events("click", 1))
        story.cluster.on_read("middle", die)
        story.cluster.on_read("middle", die, nth=2)
        story.cluster.on_read("middle", die, nth=3)
        assert story.run_once() == 1
        assert figures_of(story)["last_done_timestamp_seconds"] == done
    found = figures_of(story)
    assert found['windows{outcome="failed"}'] == 3  # of the last process
    assert found["lag_records"] == 3


def test_a_window_that_is_decided_and_not_published_is_not_the_last_done_one() -> None:
    story, store = broken_story()
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once() == 0
    done = figures_of(story)["last_done_timestamp_seconds"]
    story.clock.passes(50)
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once() == 0
    assert figures_of(story)["last_done_timestamp_seconds"] > done
    newest = list_keys(store, Layout("feed").done)[-1]
    store.delete(newest)  # as if the process had died before it published
    assert figures_of(story)["last_done_timestamp_seconds"] == done


def test_ends_of_kafka_are_known_while_somebody_looks_and_for_a_minute_after() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once() == 0
    found = figures_of(story)
    assert (found["kafka_end_offset"], found["lag_records"], found["lag_seconds"]) == (4, 0, 0)
    assert found["kafka_end_timestamp_seconds"] <= story.clock.now()
    assert found["owner_alive"] == 0
    story.clock.passes(61)
    found = figures_of(story)
    for name in ("kafka_end_offset", "lag_records", "lag_seconds", "retention_headroom_seconds"):
        assert name not in found, "nobody knows it, so 0 would be wrong"
    assert found["decided_offset"] == 4
    assert "kafka_end_timestamp_seconds" in found


@pytest.mark.parametrize(("phase", "is_known"), [("", False), ("plan", False), ("stage", True)])
def test_an_owner_that_gets_no_answer_from_kafka_does_not_know_its_ends(
    story: Story, phase: str, is_known: bool
) -> None:
    """It beats all the same. While it is busy with a window it has no reason to look."""
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once() == 0
    beat = last_beat(story.store, Layout("feed"))
    assert beat is not None
    story.clock.passes(61)
    me = Contender("another", this_process(), is_dead)
    lease = FeedLease(story.store, Layout("feed"), me, story.clock.around())
    assert lease.try_take() is None
    lease.beat(msgspec.structs.replace(beat.note, phase=phase))
    found = figures_of(story)
    assert found["owner_alive"] == 1
    assert ("lag_records" in found) == is_known


def test_headroom_is_the_time_until_what_waits_expires() -> None:
    story = Story()
    story.cluster.retention_s = {TOPIC: 3600.0}
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once() == 0
    assert figures_of(story)["retention_headroom_seconds"] == 3600.0
    assert "retention_headroom_records" not in figures_of(story), "nothing waits"

    story.cluster.append(TOPIC, 0, *events("click", 6))
    for nth in (1, 2, 3):
        story.cluster.on_read("before", die, nth=nth)
    assert story.run_once() == 1
    (place,) = (p for p in facts_of(story).status.partitions if p.partition == 0)
    found = figures_of(story)
    assert place.lag_seconds is not None
    assert found["retention_headroom_seconds"] == pytest.approx(3600 - place.lag_seconds, abs=0.1)
    assert found["retention_headroom_records"] == 4

    story.cluster.expire(TOPIC, 0, before=7)
    assert story.run_once() == 5
    found = figures_of(story)
    assert found["retention_headroom_seconds"] == 0
    assert found["feed_halted"] == 1


def test_a_source_that_cannot_tell_its_retention_has_no_headroom() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once() == 0
    beat = last_beat(story.store, Layout("feed"))
    assert beat is not None
    assert beat.note.retention_s == {}
    assert beat.format == BEAT_FORMAT
    assert beat.note.earliest == {TOPIC: {0: 0, 1: 0}}
    assert "retention_headroom_seconds" not in figures_of(story)


def test_datasets_beyond_the_bound_are_summed_and_never_change_sides() -> None:
    story = Story()
    few = MetricOptions(most_datasets=2)
    for number, kind in enumerate(("m", "z", "a", "b")):
        story.cluster.append(TOPIC, 0, *events(kind, number + 1))
        assert story.run_once() == 0
    found = figures_of(story, few)
    written = {key: value for key, value in found.items() if key.startswith("records_written")}
    assert written == {
        'records_written{dataset="m"}': 1,
        'records_written{dataset="z"}': 2,
        'records_written{dataset="_other"}': 7,
    }
    assert found['visible_offset{dataset="_other"}'] == 10
    assert found['publish_attempts{dataset="_other"}'] == 1  # of the last process
    assert 'freshness_seconds{dataset="_other"}' in found


def test_what_older_windows_did_not_record_is_unknown_and_not_lost(story: Story) -> None:
    """Windows of older formats have counts, and neither cost nor reasons."""
    story.cluster.append(TOPIC, 0, *events("click", 4), TORN)
    assert story.run_once() == 0
    reader = reader_of(story)
    facts = reader.read(story.clock.now())
    older = msgspec.structs.replace(
        facts.status.counts,
        written=facts.status.counts.written + 10,
        quarantined=facts.status.counts.quarantined + 3,
    )
    assert reader._folded is not None
    reader._folded[1].state.counts = older
    found = figures_of(story, reader=reader)
    assert found['records_written{dataset="_unknown"}'] == 10
    assert found['records_quarantined{dataset="_unknown",reason="_unknown"}'] == 3


def test_phases_of_windows_are_a_histogram_and_pauses_belong_to_none(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 4))
    story.cluster.on_read("before", lambda: story.clock.passes(7))
    story.cluster.on_read("after", die)
    assert story.run_once() == 0
    found = figures_of(story)
    assert found['window_seconds_count{phase="stage"}'] == 2
    assert found['window_seconds_bucket{le="10.0",phase="stage"}'] == 2
    assert found['window_seconds_bucket{le="5.0",phase="stage"}'] == 1
    assert found['window_seconds_bucket{le="+Inf",phase="stage"}'] == 2
    assert found['window_seconds_sum{phase="stage"}'] == 7.0
    for phase in ("prove", "decide", "publish"):
        assert found[f'window_seconds_count{{phase="{phase}"}}'] == 1
    assert found['windows{outcome="failed"}'] == 1


def test_rows_that_came_after_their_day_was_complete_are_counted_by_dataset(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 2), *events("order", 2))
    assert story.run_once() == 0
    assert not any(name.startswith("late_rows") for name in figures_of(story))
    list(finalize_to(story.journal(), story.clock.around(), Frontier("2027-01-16"), "me"))
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once() == 0
    found = figures_of(story)
    assert {key: found[key] for key in found if key.startswith("late_rows")} == {
        'late_rows{dataset="click"}': 3
    }


def test_a_window_that_needs_an_operator_counts_as_halted(story: Story) -> None:
    strict = msgspec.structs.replace(FEED, quarantine=QuarantineSpec(0.0, min_records=1))
    story.cluster.append(TOPIC, 0, *events("click", 4), TORN)
    assert story.run_once(strict) == 5
    found = figures_of(story)
    assert found['windows{outcome="halted"}'] == 1
    assert found["feed_halted"] == 1


def test_a_feed_that_never_ran_has_no_figure_but_that() -> None:
    story = Story()
    found = figures_of(story)
    assert found['windows{outcome="delivered"}'] == 0
    assert "last_done_timestamp_seconds" not in found
    assert "lag_records" not in found
    assert facts_of(story).status.state == "never ran"


def test_the_age_of_open_uploads_is_told_where_files_are_staged_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story, store = broken_story()
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once(PATIENT) == 0
    assert "oldest_open_upload_seconds" not in figures_of(story)
    monkeypatch.setattr(type(store), "upload_risks", lambda _self: [], raising=False)
    assert figures_of(story)["oldest_open_upload_seconds"] == 0
    store.broken = {"click"}
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once(PATIENT) == 5
    first_s = figures_of(story)["oldest_open_upload_seconds"]
    story.clock.passes(500)
    assert figures_of(story)["oldest_open_upload_seconds"] == first_s + 500


WANTED = """
records_read records_written records_quarantined records_filtered bytes_written files_published
windows window_seconds publish_attempts publish_failures lag_records lag_seconds freshness_seconds
decided_offset visible_offset kafka_end_offset dataset_spread_records undone_windows parked_datasets
last_done_timestamp_seconds retention_headroom_seconds task_seconds cost
"""


def test_the_debt_of_compaction_is_that_of_the_last_round_and_before_it_unknown(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once() == 0
    assert not [name for name in figures_of(story) if name.startswith("compaction")]
    story.figures.of("feed").debt_is(Debt(12, 3_000))
    found = figures_of(story)
    assert (found["compaction_debt_files"], found["compaction_debt_bytes"]) == (12, 3_000)


def test_the_page_about_metrics_has_all_of_them_and_no_other() -> None:
    kinds = {name: kind for name, kind, _, _ in FEED_METRICS}
    assert set(WANTED.split()) <= kinds.keys()
    in_code = {f"{name}_total" if kind == "counter" else name for name, kind in kinds.items()}
    in_code |= {"feed_readable", "lake_up", "snapshot_timestamp_seconds", "build_info"}
    on_page = re.findall(r"^\| `penstock_([a-z_]+)[`{]", DOCS.read_text(), re.MULTILINE)
    assert sorted(on_page) == sorted(in_code)


def test_a_feed_spec_is_enough_to_read_a_feed() -> None:
    """A reader needs nothing of the configuration but names."""
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 1))
    assert story.run_once() == 0
    facts = reader_of(story, FeedSpec(name="feed")).read(story.clock.now())
    assert [each.name for each in facts.datasets] == ["click"]
