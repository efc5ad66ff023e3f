"""A feed whose configuration says how long days are kept: its upkeep retires, and windows go on."""

import json

import msgspec

from penstock.audit.shallow import audit
from penstock.care.retire import retire_old
from penstock.feeds.feed_upkeep import Caring
from penstock.model.entries import Retire
from penstock.model.spec import TimeSpec
from penstock.testing.fault_store import Fault, FaultStore, What
from tests.helpers.list_story import FEED, TOPIC, Story, places

KEEPING = msgspec.structs.replace(FEED, time=TimeSpec(field="at"), retain_s=10 * 86_400.0)
FOR_EVER = msgspec.structs.replace(KEEPING, retain_s=None)


def record(day: str) -> bytes:
    return json.dumps({"type": "click", "at": f"{day}T07:30:00Z"}).encode()


def a_story(*days: str) -> Story:
    story = Story()
    story.caring = Caring(retire=retire_old)
    story.cluster.append(TOPIC, 0, *map(record, days))
    return story


def test_nothing_is_retired_unless_the_configuration_asks_for_it() -> None:
    story = a_story("2020-01-01")
    assert story.run_once(FOR_EVER) == 0
    assert story.run_once(FOR_EVER) == 0
    assert story.entries(Retire) == []


def test_days_past_retention_go_beside_the_loop_and_late_data_goes_later() -> None:
    story = a_story("2026-12-01", "2027-01-10")
    assert story.run_once(FOR_EVER) == 0
    story.cluster.append(TOPIC, 0, record("2026-12-01"))
    assert story.run_once(KEEPING) == 0
    assert any(line.startswith("retired: ") for line in story.said)
    assert story.run_once(KEEPING) == 0, (
        "what came late into a retired day goes with the next round"
    )
    assert story.delivered() == places(0, 1)
    assert audit(story.journal()).differences == ()


def test_trouble_with_retention_is_told_and_fails_no_window() -> None:
    story = a_story("2026-12-01", "2027-01-10")
    assert story.run_once(FOR_EVER) == 0
    whole = story.store
    broken = [Fault("delete", What.FAIL_BEFORE, "feed/click/*", nth) for nth in range(1, 4)]
    story.store = FaultStore(whole, broken)
    story.cluster.append(TOPIC, 0, record("2027-01-11"))
    assert story.run_once(KEEPING) == 0
    story.store = whole
    assert story.run_once(KEEPING) == 0
    assert story.delivered() == places(0, 1, 2)
    assert audit(story.journal()).differences == ()
