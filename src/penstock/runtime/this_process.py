"""Identifies a process so that another process on the same host can check whether it runs."""

import os
import socket
from pathlib import Path

from penstock.model.process_id import Process

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PIDS = Path("/proc/self/ns/pid")


def this_process() -> Process:
    """The identity of this process."""
    return Process(_host(), os.getpid(), _started(os.getpid()) or "")


def is_dead(process: Process) -> bool:
    """True when it ran on this host and has certainly ended; False when in doubt."""
    if process.host != _host():
        return False
    if process.started:
        return _started(process.pid) != process.started
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # it belongs to another user, so it exists
    return False


def _host() -> str:
    """The host, its boot and its namespace of process ids."""
    try:
        return f"{socket.gethostname()}/{_BOOT.read_text().strip()}/{_PIDS.stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """When a process started, in ticks since boot; None if there is no such process or no /proc.

    A process that has ended and was not waited for yet (a zombie) counts as ended.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may contain any character
    return None if fields[0] in "ZX" else fields[19]
