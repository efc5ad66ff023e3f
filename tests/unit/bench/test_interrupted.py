"""Ctrl-C ends a benchmark with one line, also inside py4j, which would print a trace."""

import signal
import subprocess
import sys
import textwrap

import pytest

from bench.interrupted import in_one_line

WAITING = textwrap.dedent(
    """
    import logging, os, signal
    from bench.interrupted import in_one_line

    def main():
        try:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:  # as py4j does
                logging.exception("KeyboardInterrupt while sending command.")
                raise
        finally:
            os.kill(os.getpid(), signal.SIGINT)  # an impatient user; Spark is being ended here
            print("ended")

    in_one_line(main)
    """
)


def test_an_interrupted_benchmark_prints_one_line_after_its_parts_have_ended() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WAITING],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout == "ended\n"
    assert ran.stderr == "stopped by Ctrl-C\n"


@pytest.mark.parametrize(("given", "code"), [(None, 0), (3, 3)])
def test_the_code_of_a_benchmark_is_that_of_its_main(given: int | None, code: int) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as caught:
            in_one_line(lambda: given)
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught.value.code == code
