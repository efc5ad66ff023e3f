"""Loads all compiled code; as a program of its own it compiles what this machine does not have yet.

The process from which workers are forked loads it, so that no task waits for it; a run starts the
program while Spark starts.
"""

import time
from importlib import import_module


def load() -> None:
    """Load it, after whoever compiles at the moment."""
    import_module("penstock.datapath.codec.load_compiled").load_compiled(time.monotonic, time.sleep)


if __name__ == "__main__":
    load()
