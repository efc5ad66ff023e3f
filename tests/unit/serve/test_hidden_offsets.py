"""What is decided and not visible, by dataset and partition, and how far datasets are apart."""

from penstock.model.entries import Window
from penstock.protocol.feed_book.state import FeedState
from penstock.serve.brief_entries import BriefBody, BriefEntry
from penstock.serve.hidden_offsets import hidden_offsets, spreads
from tests.helpers.journals import BEGINNING, a_window, covered, told
from tests.simulator.kafka import TOPIC

FIRST = a_window(covered(0, 3), window="1-1")
SECOND = a_window(covered(3, 6), covered(5, 9, 1), window="1-2")
ZERO, ONE = (TOPIC, 0), (TOPIC, 1)
DECIDED = {ZERO: 6, ONE: 9}


def undone(*windows: Window) -> tuple[FeedState, list[BriefEntry]]:
    """The state after these windows, none of which is published, and their entries in brief."""
    state = told(*BEGINNING, *windows)
    entries = [
        BriefEntry(number, "", 1, BriefBody("window", window.window, window.ranges))
        for number, window in zip(sorted(state.undone), windows, strict=True)
    ]
    return state, entries


def test_a_dataset_is_visible_up_to_its_first_undone_window_in_each_partition() -> None:
    for entries_first in (True, False):
        state, entries = undone(FIRST, SECOND)
        given = entries if entries_first else entries[::-1]
        assert hidden_offsets(state, given) == {"a": {ZERO: 0, ONE: 5}}


def test_a_window_of_a_topic_that_was_created_again_hides_nothing_of_the_new_one() -> None:
    state, entries = undone(FIRST)
    state.topics[TOPIC] = "another-id"
    assert hidden_offsets(state, entries) == {}


def test_the_spread_is_the_largest_visible_offset_minus_the_smallest() -> None:
    state, entries = undone(FIRST, SECOND)
    hidden = hidden_offsets(state, entries)
    assert spreads(DECIDED, hidden, ["a", "b"]) == {ZERO: 6, ONE: 4}


def test_there_is_no_spread_where_all_that_is_decided_is_visible_or_all_wait_alike() -> None:
    state, entries = undone(FIRST, SECOND)
    assert spreads(DECIDED, {}, ["a", "b"]) == {ZERO: 0, ONE: 0}
    assert spreads(DECIDED, hidden_offsets(state, entries), ["a"]) == {ZERO: 0, ONE: 0}
    assert spreads(DECIDED, {}, []) == {ZERO: 0, ONE: 0}
