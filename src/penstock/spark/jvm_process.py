"""The JVM that is being started for a session, so that another thread can end it. Driver only.

pyspark starts it and returns only when it answers, which takes many seconds on a busy machine. A
run that is refused or interrupted meanwhile must not wait for that.
"""

import os
import select
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark import java_gateway

_STOP_TIMEOUT_S = 10.0


class JvmProcess:
    """At most one process. What its launcher starts is waited for too, by a pipe that all hold."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._held = -1  # the end of a pipe that can be read once nobody holds the other end
        self._is_ended = False

    @contextmanager
    def launching(self) -> Iterator[None]:
        """Note the process that pyspark starts inside; it tells nobody until the JVM answers."""
        names = vars(java_gateway)
        before, names["Popen"] = names["Popen"], self._start
        try:
            yield
        finally:
            names["Popen"] = before

    def end(self) -> bool:
        """End the process and wait until all are gone; none is started later. False: none was.

        Safe to repeat. Any thread.
        """
        with self._lock:
            self._is_ended = True
            if self._process is None:
                return False
            self._process.terminate()  # the JVM then removes its directories
            try:
                self._process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._held >= 0:
                select.select([self._held], [], [], _STOP_TIMEOUT_S)
                os.close(self._held)
                self._held = -1
            self._process = None
            return True

    def kill(self) -> None:
        """End the process at once, without waiting. Any thread, also while another one waits."""
        process = self._process
        if process is not None:
            process.kill()

    def _start(self, command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        """In place of `Popen`, with its arguments."""
        with self._lock:
            if self._is_ended:
                raise OSError("it is not needed any more")
            self._held, other = os.pipe()
            try:
                self._process = subprocess.Popen(command, pass_fds=(other,), **options)  # noqa: S603
            finally:
                os.close(other)
            return self._process
