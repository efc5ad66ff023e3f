"""Where words go out: whoever reads them may go away, and that changes no verdict."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

from penstock.errors import PenstockError

CUT_OFF = 1  # nobody heard the end, so it is not a success


def escape_the_unprintable() -> None:
    """Let no character end a command that a terminal's or a pipe's encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.closed:
            stream.reconfigure(errors="backslashreplace")


def say(text: str, stream: TextIO, end: str = "\n") -> None:
    """Write now, to whoever still listens. For words on which nothing depends."""
    try:
        print(text, file=stream, end=end, flush=True)
    except (OSError, ValueError):
        return  # the reader is gone, the disk of a log is full, or the stream is closed


def telling(codes: list[int]) -> Callable[[str, PenstockError], None]:
    """What tells why a feed is left out, and keeps the exit code of that: the others go on."""

    def tell(feed: str, error: PenstockError) -> None:
        codes.append(error.exit_code)
        say(f"{feed}: {error}", sys.stderr)

    return tell


@contextmanager
def unless_cut_off(codes: list[int]) -> Iterator[None]:
    """Print data in here: output that nobody takes is a failure among others, and no end."""
    try:
        yield
    except BrokenPipeError:
        codes.append(CUT_OFF)
    except OSError as error:
        say(f"the output could not be written: {error}", sys.stderr)
        codes.append(CUT_OFF)


def all_is_out() -> bool:
    """Write out what is left; False when data was not taken. Python finds nothing left at exit."""
    codes: list[int] = []
    with unless_cut_off(codes):
        _finish(sys.stdout)
    try:
        _finish(sys.stderr)
    except OSError:
        return not codes  # words on which nothing depends
    return not codes


def _finish(stream: TextIO | None) -> None:
    """Flush; where that fails, what is left goes nowhere, so that no later flush can fail."""
    if stream is None or stream.closed:  # whoever started us has closed it
        return
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        raise
