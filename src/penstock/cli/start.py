"""The entry point of `penstock`. It handles a Ctrl-C while modules are still imported."""

import signal
import sys
from importlib import import_module


def main() -> int:
    """Import the commands, and run one."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commands = import_module("penstock.cli.main")
    except KeyboardInterrupt:
        return 0 if sys.argv[1:2] == ["run"] else 1  # nothing was started
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code: int = commands.main()
    return code
