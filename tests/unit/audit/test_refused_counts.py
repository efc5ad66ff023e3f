"""The reasons that a window records for its quarantine are those of the records in it."""

import msgspec
import pytest

from penstock.audit.balance import window_differences
from penstock.model.entries import Window
from penstock.model.refused_records import Refused
from tests.helpers.list_story import TOPIC, TORN, Story, events


@pytest.fixture
def window() -> Window:
    """A window with three broken records; one has no dataset, for a reason of its own."""
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 3), TORN, b'{"n": 1}', TORN)
    assert story.run_once() == 0
    (found,) = story.entries(Window)
    assert isinstance(found, Window)
    return found


def words(window: Window, refused: Refused) -> list[str]:
    assert window.content is not None
    changed = msgspec.structs.replace(window, refused=refused)
    return [each.found for each in window_differences(4, changed, window.content)]


def test_a_window_records_every_reason(window: Window) -> None:
    assert window.refused == {"": {"NOT_JSON": 2, "ROUTE_MISSING": 1}}
    assert words(window, window.refused) == []


def test_an_older_window_has_no_reasons_and_no_difference(window: Window) -> None:
    assert words(window, {}) == []


@pytest.mark.parametrize(
    "refused", [{"": {"NOT_JSON": 2}}, {"click": {"NOT_JSON": 3}}, {"": {"NOT_JSON": 4}}]
)
def test_an_audit_finds_reasons_that_do_not_add_up(window: Window, refused: Refused) -> None:
    (found,) = words(window, refused)
    assert "has reasons for" in found
