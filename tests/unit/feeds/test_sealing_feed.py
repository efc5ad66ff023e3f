"""A feed whose configuration asks for seals: its upkeep packs the journal, and windows go on."""

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.model.entries import Window
from penstock.model.envelope import Seal
from penstock.model.layout import Layout
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book import inventory_writer
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.testing.fault_store import Fault, FaultStore, What
from tests.helpers.list_story import FEED, TOPIC, Story, events, places

LAYOUT = Layout("feed")
SEALED = msgspec.structs.replace(FEED, seal_s=60.0)


@pytest.fixture
def story() -> Story:
    """A feed with some windows, and checkpoints as a longer life would have left them."""
    story = Story()
    for _ in range(4):
        story.cluster.append(TOPIC, 0, *events("click", 3))
        assert story.run_once() == 0
    write_checkpoint(story.journal(), story.journal().open().state)
    inventory_writer.update_inventory(story.journal(), story.clock.around(), every=1)
    return story


def originals(story: Story) -> list[str]:
    return list_keys(story.store, LAYOUT.journal)


def test_nothing_is_sealed_unless_the_configuration_asks_for_it(story: Story) -> None:
    story.clock.passes(10_000_000)
    assert story.run_once() == 0
    assert story.entries(Seal) == []


def test_old_entries_are_sealed_beside_the_loop_and_the_feed_goes_on(story: Story) -> None:
    before = len(originals(story))
    story.clock.passes(121)
    assert story.run_once(SEALED) == 0
    [seal] = story.entries(Seal)
    assert [line for line in story.said if line.startswith("sealed")] == [
        f"sealed: {seal.last + 1} journal entries were packed into segments"
    ]
    assert len(originals(story)) < before
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once(SEALED) == 0
    assert story.delivered() == places(0, *range(14))
    assert len(story.entries(Window)) == 5, "sealed ones are read out of the segment"
    assert audit(story.journal()).differences == ()


def test_entries_that_are_not_old_enough_stay(story: Story) -> None:
    story.clock.passes(30)
    assert story.run_once(SEALED) == 0
    assert story.entries(Seal) == []


def test_trouble_with_sealing_is_told_and_fails_no_window(story: Story) -> None:
    story.clock.passes(121)
    story.cluster.append(TOPIC, 0, *events("click", 2))
    whole = story.store
    broken = [Fault("create", What.FAIL_BEFORE, "*/segments/*", nth) for nth in range(1, 30)]
    story.store = FaultStore(whole, broken)
    assert story.run_once(SEALED) == 0
    assert story.delivered() == places(0, *range(14))
    assert any(line.startswith("upkeep_failed: sealing failed") for line in story.said)
    story.store = whole
    assert story.run_once(SEALED) == 0
    assert story.entries(Seal) != []
