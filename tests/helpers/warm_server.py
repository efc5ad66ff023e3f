"""The process behind `warm_python`: it has imported everything, and forks a child for each order.

A child becomes what a fresh interpreter would be: standard streams, arguments, environment and
working directory are those of the order. It ends as an interpreter ends, up to the output that is
written last; taking thousands of modules apart after that would be most of its time.
"""

import atexit
import json
import os
import pkgutil
import runpy
import socket
import sys
import threading
import traceback
from importlib import import_module
from typing import Any, NoReturn

from penstock.cli import commands

MOST_BYTES = 200_000  # of one order, environment included
IMPORTED_BEFORE = (
    "penstock.cli.main",
    *(f"{commands.__name__}.{each.name}" for each in pkgutil.iter_modules(commands.__path__)),
    "penstock.datapath.codec.protobuf.schema_compiler.compiler_process",
)
LOST_OUTPUT = 120  # how Python ends when its last output cannot be written


def serve(line: socket.socket) -> dict[str, Any] | None:
    """Fork for each order until the other end is closed; in a child, return its order."""
    while True:
        raw, streams, _, _ = socket.recv_fds(line, MOST_BYTES, 3)
        if not raw:
            return None
        child = os.fork()
        if child == 0:
            line.close()
            order: dict[str, Any] = json.loads(raw)
            _become(order, streams)
            return order
        for stream in streams:
            os.close(stream)
        line.send(str(child).encode())
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(order: dict[str, Any], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv = order["argv"]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def _do(order: dict[str, Any]) -> int:
    """Run what was ordered, and let it end as a main program ends; the exit code."""
    try:
        if "program" in order:
            exec(compile(order["program"], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    except BaseException:  # noqa: BLE001 -- an interpreter shows whatever ends a program
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """What an interpreter does at its end: threads, exit handlers, then the output that is left."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError as error:
            os.write(2, f"Exception ignored in: {stream!r}\n{error!r}\n".encode())
            code = LOST_OUTPUT
    os._exit(code)


if __name__ == "__main__":
    for name in IMPORTED_BEFORE:
        import_module(name)
    found = serve(socket.socket(fileno=int(sys.argv[1])))
    if found is not None:
        _end(_do(found))
