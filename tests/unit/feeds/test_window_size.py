"""Windows after a timeout: half as much, down to a smallest size, and twice as much after each."""

from penstock.feeds.window_size import SMALLEST, TRIES, WindowSize

USUAL = 1_000_000


def test_every_timeout_halves_what_the_next_window_takes() -> None:
    size = WindowSize()
    assert size.within({"a": 5_000_000}) == {"a": 5_000_000}
    size.timed_out(64_000)
    assert size.within({"a": 20_000, "b": 30_000, "c": 7}) == {"a": 20_000, "b": 12_000}
    size.timed_out(32_000)
    assert size.within({"a": 20_000}) == {"a": 16_000}
    assert not size.is_exhausted


def test_three_timeouts_in_a_row_at_the_smallest_size_are_the_end() -> None:
    size = WindowSize()
    size.timed_out(3_000)
    size.timed_out(1_500)
    assert size.most == SMALLEST
    for _ in range(TRIES):
        assert not size.is_exhausted
        size.timed_out(SMALLEST)
    assert size.is_exhausted


def test_a_window_that_is_delivered_begins_the_count_again_and_doubles_the_next() -> None:
    size = WindowSize()
    for _ in range(TRIES - 1):
        size.timed_out(10)
    size.delivered(USUAL)
    assert size.most == 2 * SMALLEST
    size.timed_out(10)
    assert not size.is_exhausted
    for _ in range(12):
        size.delivered(USUAL)
    assert size.within({"a": USUAL}) == {"a": USUAL}


def test_the_next_owner_goes_on_where_the_one_before_was() -> None:
    first = WindowSize()
    assert first.limited is None
    for _ in range(TRIES - 1):
        first.timed_out(10)
    second = WindowSize()
    second.go_on(first.limited)
    assert second.most == SMALLEST
    second.timed_out(10)
    assert second.is_exhausted
    third = WindowSize()  # an operator has started it again, after the halt
    third.go_on(second.limited)
    assert (third.most, third.is_exhausted) == (None, False)
    third.timed_out(64_000)
    third.go_on(None)  # another instance has had the feed meanwhile, and nothing limited it
    assert third.most is None
