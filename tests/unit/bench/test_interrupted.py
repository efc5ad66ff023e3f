"""A signal ends a benchmark with one line, also inside py4j, which would print a trace."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.interrupted import STOPPING, in_one_line


@contextmanager
def restored_signals() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in STOPPING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


WAITING = textwrap.dedent(
    """
    import logging, os, signal
    from bench.interrupted import in_one_line

    def main():
        try:
            try:
                os.kill(os.getpid(), {number})
            except KeyboardInterrupt:  # as py4j does
                logging.exception("KeyboardInterrupt while sending command.")
                raise
        finally:
            os.kill(os.getpid(), signal.SIGINT)  # an impatient user; Spark is being ended here
            print("ended")
            {at_last}

    in_one_line(main)
    """
)


@pytest.mark.parametrize(
    ("number", "name", "at_last"),
    [
        (2, "Ctrl-C", ""),
        (15, "SIGTERM", "raise ConnectionError('the broker is gone, too')"),
    ],
)
def test_an_interrupted_benchmark_prints_one_line_after_its_parts_have_ended(
    number: int, name: str, at_last: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WAITING.format(number=number, at_last=at_last)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout == "ended\n"
    assert ran.stderr == f"stopped by {name}\n"


def test_an_error_without_a_signal_keeps_its_trace() -> None:
    def fail() -> int:
        raise ConnectionError("the broker is gone")

    with restored_signals(), pytest.raises(ConnectionError, match="is gone"):
        in_one_line(fail)


@pytest.mark.parametrize(("given", "code"), [(None, 0), (3, 3)])
def test_the_code_of_a_benchmark_is_that_of_its_main(given: int | None, code: int) -> None:
    with restored_signals(), pytest.raises(SystemExit) as caught:
        in_one_line(lambda: given)
    assert caught.value.code == code
