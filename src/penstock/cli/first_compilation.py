"""The first compilation of the decoders on a machine: a command that waits for it says so."""

import sys

from penstock.datapath.codec.shared.code_cache import is_complete

COMPILING = "compiling the decoders, once per machine"


def tell_compiling() -> None:
    """Say on stderr that this command waits for it. Nothing is said once it is done."""
    if not is_complete():
        print(f"{COMPILING}, in about a minute", file=sys.stderr, flush=True)
