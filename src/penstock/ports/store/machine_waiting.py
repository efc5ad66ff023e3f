"""What passes time between two tries, as the stores use it outside of tests."""

import random
import time

from penstock.ports.store.back_off import Waiting


def real_waiting() -> Waiting:
    """The clock, sleep and randomness of this machine."""
    return Waiting(time.monotonic, time.sleep, random.SystemRandom().random)
