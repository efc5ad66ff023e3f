"""An error travels from a task to the driver with its class, code and sentence."""

import pytest

from penstock.errors import OutcomeUnknown, PenstockError, StoreUnavailable
from penstock.feeds.errors import LeaseHeld
from penstock.runtime.carried_error import CarriedError, as_report, carried, opened_report

FULL = StoreUnavailable("write", "lake/x", "No space left on device")


def test_the_driver_raises_what_the_task_could_not_do() -> None:
    with pytest.raises(StoreUnavailable) as raised:
        opened_report(as_report(FULL))
    assert str(raised.value) == str(FULL)
    assert (raised.value.code, raised.value.exit_code) == ("STORE_UNAVAILABLE", 1)
    assert raised.value.key == "lake/x", "facts come along"


def test_a_report_that_is_no_error_stays_as_it_is() -> None:
    for report in (b"", b"\x80", b"\x93abc"):
        assert opened_report(report) == report


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown("publish", "x", "no answer"),
        LeaseHeld("feed", "host:7", "2026-11-18T00:00:00"),
        PenstockError("found", "advice"),
    ],
)
def test_errors_of_any_form_come_back_as_they_were(error: PenstockError) -> None:
    back = carried(error).error()
    assert type(back) is type(error)
    assert (str(back), back.found, back.advice) == (str(error), error.found, error.advice)
    assert vars(back) == vars(error)


def test_nothing_but_our_own_errors_is_made() -> None:
    with pytest.raises(TypeError, match="not an error of Penstock"):
        CarriedError("builtins", "OSError", "a", "b").error()
