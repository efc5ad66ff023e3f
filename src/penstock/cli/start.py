"""The entry point of `penstock`. It handles a Ctrl-C while modules are still imported."""

import signal
import sys
from importlib import import_module


def main() -> int:
    """Import the parser, then what the chosen command needs, and run it.

    Until the command runs, SIGTERM is taken as Ctrl-C is: nothing was started yet.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commands = import_module("penstock.cli.main")
    except KeyboardInterrupt:
        return 0 if sys.argv[1:2] in (["run"], ["serve"]) else 1  # nothing was started
    code: int = commands.main(begin=_begin)
    return code


def _begin() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
