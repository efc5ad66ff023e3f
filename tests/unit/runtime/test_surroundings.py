"""Acts that go on beside their user: all done in the end, and no error lost."""

import threading

import pytest

from penstock.runtime.surroundings import Beside


def test_the_user_goes_on_while_acts_wait_and_leaves_when_all_are_done() -> None:
    go_on = threading.Event()
    done: list[str] = []

    def slow() -> None:
        assert go_on.wait(30)
        done.append("slow")

    with Beside() as beside:
        beside.do([slow])
        assert done == []
        go_on.set()
        beside.do([lambda: done.append("next")])
    assert done == ["slow", "next"]


def fails() -> None:
    raise OSError("full")


def do_twice() -> None:
    with Beside() as beside:
        beside.do([fails])
        beside.do([fails])


def do_once() -> None:
    with Beside() as beside:
        beside.do([fails])


def do_and_fail() -> None:
    with Beside() as beside:
        beside.do([fails])
        raise ValueError("mine")


def test_what_an_act_raises_comes_out_of_the_next_ones_or_at_the_end() -> None:
    for user in (do_once, do_twice):
        with pytest.raises(OSError, match="full"):
            user()


def test_an_error_of_the_user_is_the_one_that_is_told() -> None:
    with pytest.raises(ValueError, match="mine"):
        do_and_fail()
