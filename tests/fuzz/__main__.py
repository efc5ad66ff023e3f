"""`python -m tests.fuzz`: the property tests of every decoder, over and over, from new seeds.

    make fuzz                       ten minutes per decoder
    make fuzz ONLY=avro SECONDS=60
    make fuzz ONLY=avro SEED=123    the same again, from the round that found something

Every round says its seed before it begins. What is found is shown with the smallest example of it.

A worker must not crash, hang, or take memory without bounds, whatever the bytes. So the address
space is bounded here, and whatever takes longer than a minute ends with a trace of where it was.
"""

import argparse
import faulthandler
import random
import resource
import sys
import time
from collections.abc import Callable

from hypothesis import seed

from tests.property.datapath.codec.avro import test_codec as test_avro
from tests.property.datapath.codec.json import (
    test_codec as test_json,
)
from tests.property.datapath.codec.json import (
    test_inference,
    test_one_pass,
    test_schema_reader,
)
from tests.property.datapath.codec.msgpack import test_bytes as test_msgpack
from tests.property.datapath.codec.protobuf import test_codec as test_protobuf
from tests.property.datapath.codec.raw import test_codec as test_raw
from tests.property.datapath.codec.shared import test_framing
from tests.property.datapath.codec.text import test_bytes as test_text
from tests.property.datapath.codec.thrift import test_codec as test_thrift

MOST_BYTES = 6 * 1024**3
LONGEST_S = 60
MODULES = {
    "avro": (test_avro,),
    "framing": (test_framing,),
    "json": (test_json, test_one_pass, test_inference),
    "json_ids": (test_schema_reader,),
    "msgpack": (test_msgpack,),
    "protobuf": (test_protobuf,),
    "raw": (test_raw,),
    "text": (test_text,),
    "thrift": (test_thrift,),
}


def searches(decoder: str) -> list[Callable[[], None]]:
    """The tests of a decoder that Hypothesis feeds, and nothing else."""
    found = [
        getattr(module, name)
        for module in MODULES[decoder]
        for name in sorted(vars(module))
        if name.startswith("test_")
    ]
    return [test for test in found if getattr(test, "is_hypothesis_test", False)]


def fuzz(decoder: str, seconds: float, start: int) -> int:
    """Search until the time is over; how often each test was run."""
    tests, rounds = searches(decoder), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        left = end - time.monotonic()
        print(
            f"{decoder}: {len(tests)} tests, seed {start + rounds}, {left:.0f} s left", flush=True
        )
        for test in tests:
            faulthandler.dump_traceback_later(LONGEST_S, exit=True)
            seed(start + rounds)(test)()
            faulthandler.cancel_dump_traceback_later()
        rounds += 1
    return rounds


def main() -> int:
    """Every decoder, or the one that was named."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--seconds", type=float, default=600.0, help="per decoder")
    words.add_argument("--only", choices=sorted(MODULES), action="append")
    words.add_argument("--seed", type=int, help="of the first round; the next has the next one")
    chosen = words.parse_args()
    start = random.SystemRandom().getrandbits(32) if chosen.seed is None else chosen.seed
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    for decoder in chosen.only or sorted(MODULES):
        rounds = fuzz(decoder, chosen.seconds, start)
        print(f"{decoder}: nothing found in {rounds} rounds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
