"""Writing to stdout and stderr. A reader that closes a pipe does not change a verdict."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

from penstock.errors import PenstockError

CUT_OFF = 1  # the output was cut off, so this is not a success


def escape_the_unprintable() -> None:
    """Escape characters that the stream's encoding does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.closed:
            stream.reconfigure(errors="backslashreplace")


def say(text: str, stream: TextIO, end: str = "\n") -> None:
    """Write and flush a message; a stream that cannot be written is ignored."""
    try:
        print(text, file=stream, end=end, flush=True)
    except (OSError, ValueError):
        return  # the reader is gone, the disk of a log is full, or the stream is closed


def telling(codes: list[int]) -> Callable[[str, PenstockError], None]:
    """A function that reports why a feed is left out, and records the exit code."""

    def tell(feed: str, error: PenstockError) -> None:
        codes.append(error.exit_code)
        say(f"{feed}: {error}", sys.stderr)

    return tell


@contextmanager
def unless_cut_off(codes: list[int]) -> Iterator[None]:
    """Print data inside; output that cannot be written becomes an exit code, not an exception."""
    try:
        yield
    except BrokenPipeError:
        codes.append(CUT_OFF)
    except OSError as error:
        say(f"the output could not be written: {error}", sys.stderr)
        codes.append(CUT_OFF)


def all_is_out() -> bool:
    """Flush both streams; False if data was not written. Leaves nothing for Python's exit."""
    codes: list[int] = []
    with unless_cut_off(codes):
        _finish(sys.stdout)
    try:
        _finish(sys.stderr)
    except OSError:
        return not codes  # messages do not change the exit code
    return not codes


def leave(code: int) -> None:
    """End this process now, with what was printed. Threads that wait for an answer end with it."""
    all_is_out()
    os._exit(code)


def _finish(stream: TextIO | None) -> None:
    """Flush. If that fails, discard what is left, so that no later flush can fail."""
    if stream is None or stream.closed:  # closed by the calling process
        return
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        raise
