"""`run`, and what a feed says about its place among others: what may stand there."""

from pathlib import Path

import pytest

from penstock.config.errors import ConfigInvalid
from penstock.model.spec import FeedSpec, RunLimits
from tests.helpers.feed_sections import HEAD, spec_of

FEEDS = "feeds: {a: {topics: [a]}}\n"


def test_slots_pools_and_feeds_are_numbers(tmp_path: Path) -> None:
    words = "parallel: 8, pools: {bulk: 1, slow-ones: 2}, feeds_at_most: 20"
    spec = spec_of(tmp_path, f"{HEAD}run: {{{words}}}\n{FEEDS}")
    assert spec.run == RunLimits(8, {"bulk": 1, "slow-ones": 2}, 20)
    assert spec_of(tmp_path, f"{HEAD}{FEEDS}").run == RunLimits(4, {}, None)


def test_a_feed_has_a_priority_a_pool_and_a_timeout(tmp_path: Path) -> None:
    keys = "topics: [a], priority: 9, pool: bulk, timeout: 20m"
    feeds = f"feeds: {{a: {{{keys}}}, b: {{topics: [b], pool: null}}}}"
    first, second = spec_of(tmp_path, f"{HEAD}run: {{pools: {{bulk: 1}}}}\n{feeds}").feeds
    assert (first.priority, first.pool, first.timeout_s) == (9, "bulk", 1_200.0)
    assert second == FeedSpec(name="b", topics=("b",))
    assert (second.priority, second.pool, second.timeout_s) == (5, "", 3_600.0)


@pytest.mark.parametrize(
    ("words", "feed", "sentence"),
    [
        ("parallel: 0", "", "run.parallel: found '0'; allowed: a whole number, 1 to 1000"),
        ("feeds_at_most: 0", "", "run.feeds_at_most: found '0'"),
        ("pools: {bulk: none}", "", "run.pools.bulk: found no number of slots"),
        ("pools: {BULK: 1}", "", "found 'BULK'; allowed: the name of a pool"),
        ("threads: 3", "", "run.threads: unknown key"),
        ("pools: {bulk: 1}", "pool: bluk", "feeds.a.pool: found 'bluk', which `run` does not have"),
        ("parallel: 1", "pool: ''", "feeds.a.pool: "),
        ("parallel: 1", "priority: 101", "feeds.a.priority: found '101'; allowed: 0 to 100"),
        ("parallel: 1", "timeout: 0s", "feeds.a.timeout: found '0s'"),
    ],
)
def test_anything_else_is_a_mistake(tmp_path: Path, words: str, feed: str, sentence: str) -> None:
    feeds = f"feeds: {{a: {{topics: [a]{', ' if feed else ''}{feed}}}}}\n"
    with pytest.raises(ConfigInvalid) as caught:
        spec_of(tmp_path, f"{HEAD}run: {{{words}}}\n{feeds}")
    assert sentence in str(caught.value)
