"""Python processes that start at once, as children of one that has imported everything before.

For tests that need a process of its own for its pipes, its exit code or its isolation. Starting an
interpreter and importing the package takes most of a second, and a hundred tests do it. A test
whose subject is the start, the imports or the signals of a process starts a real one instead.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]


class WarmPython:
    """Runs Python commands one after the other; `run` takes what `subprocess.run` takes."""

    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.helpers.warm_server", str(theirs.fileno())]
        self._server = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()

    def run(
        self,
        command: Sequence[str],
        *,
        stdout: int | None = None,
        stderr: int | None = None,
        capture_output: bool = False,
        text: bool = False,
        timeout: float | None = 60.0,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        check: bool = False,
    ) -> subprocess.CompletedProcess[Any]:
        """Run `python -m module ...` or `python -c program ...` and wait for its end."""
        order = {**_asked(command), "env": dict(env or os.environ), "cwd": str(cwd or Path.cwd())}
        piped = subprocess.PIPE if capture_output else None
        with _Stream(stdout or piped, 1) as out, _Stream(stderr or piped, 2) as err:
            with open(os.devnull, "rb") as nothing:  # noqa: PTH123 -- a device
                streams = [nothing.fileno(), out.number, err.number]
                socket.send_fds(self._line, [json.dumps(order).encode()], streams)
            code = self._ended(command, timeout)
            found = [each.said(text) for each in (out, err)]
        done = subprocess.CompletedProcess(list(command), code, *found)
        if check:
            done.check_returncode()
        return done

    def close(self) -> None:
        """End the process that all others are forked from."""
        self._line.close()
        self._server.wait(60)

    def _ended(self, command: Sequence[str], timeout: float | None) -> int:
        self._line.settimeout(60)
        child = int(self._line.recv(64) or "0")
        if not child:
            raise RuntimeError(f"the warm process is gone, before it ran {list(command)}")
        self._line.settimeout(timeout)
        try:
            return int(self._line.recv(64))
        except TimeoutError as error:
            os.kill(child, signal.SIGKILL)
            self._line.settimeout(60)
            self._line.recv(64)
            raise subprocess.TimeoutExpired(list(command), timeout or 0.0) from error


class _Stream:
    """Where a child writes: a file to read from afterwards, or what the caller has named."""

    def __init__(self, wanted: int | None, inherited: int) -> None:
        self._file: IO[bytes] | None = None
        self._own = -1
        if wanted == subprocess.PIPE:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 -- closed in __exit__
            self.number = self._file.fileno()
        elif wanted == subprocess.DEVNULL:
            self.number = self._own = os.open(os.devnull, os.O_WRONLY)
        else:
            self.number = inherited if wanted is None else wanted

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: object) -> None:
        if self._own >= 0:
            os.close(self._own)
        if self._file is not None:
            self._file.close()

    def said(self, text: bool) -> Any:
        if self._file is None:
            return None
        self._file.seek(0)
        raw = self._file.read()
        return raw.decode() if text else raw


def _asked(command: Sequence[str]) -> dict[str, Any]:
    """What a child has to do, in the words of a command line."""
    executable, *words = command
    if executable != sys.executable:
        raise ValueError(f"{executable!r} is not this Python")
    while words and words[0] == "-P":  # the script's folder is not on a child's path anyway
        words.pop(0)
    flag, what, *rest = words
    if flag == "-c":
        return {"program": what, "argv": ["-c", *rest]}
    if flag == "-m":
        return {"module": what, "argv": [what, *rest]}
    raise ValueError(f"only -m and -c can be run, not {flag!r}")
