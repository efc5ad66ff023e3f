"""How fast JSON becomes columns on one core: `python -m bench.decode`.

Events of 12 types, about 200 bytes each: ids, names, numbers, a nested object and a list. Every
way is measured over the same batches, ways taking turns, and the best turn counts: on a machine
that is shared the slower turns measure the others. Trust the ratios more than the figures.

    plain        `msgspec.json.decode` in a loop, to Python objects: no columns, no types
    pyarrow      `pyarrow.json` on newline-joined payloads: fast, and wrong for odd payloads
    partial      route and time of each record, everything else skipped
    decode       the fast way, to columns
    one unknown  the same where every record has a field that the schema does not know
    one misfit   the same where every record has a nested value of another type
    reference    the slow way alone
"""

import argparse
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.json

from bench.interrupted import in_one_line
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.model.schema import DatasetSchema

TYPES = [
    "page_view", "click", "search", "login", "logout", "signup",
    "add_to_cart", "purchase", "refund", "share", "rating", "error",
]  # fmt: skip
TARGET_PER_CPU_S = 550_000


@dataclass(frozen=True)
class Way:
    """One way to read a batch, and how many records its turn covers."""

    name: str
    run: Callable[[], object]
    records: int


def event(random: Random, number: int) -> dict[str, Any]:
    """One event of about 200 bytes."""
    return {
        "type": random.choice(TYPES),
        "event_time": 1_700_000_000_000 + number,
        "user_id": random.randrange(10**9),
        "name": f"user name {random.randrange(10**6)}",
        "amount": round(random.random() * 1_000, 2),
        "ok": random.random() < 0.5,
        "ctx": {"ip": f"10.0.{random.randrange(255)}.{random.randrange(255)}", "port": 443},
        "tags": [f"tag{random.randrange(9)}", "b"],
        "agent": "Mozilla/5.0 (X11)",
    }


def cpu_s(run: Callable[[], object]) -> float:
    """The processor time of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def read_with_pyarrow(payloads: list[bytes], schema: pa.Schema) -> pa.Table:
    """Arrow's own reader on one thread."""
    return pyarrow.json.read_json(
        io.BytesIO(b"\n".join(payloads)),
        read_options=pyarrow.json.ReadOptions(use_threads=False),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=schema),
    )


def ways(payloads: list[bytes], schema: DatasetSchema) -> list[Way]:
    """The ways to compare."""
    codec = JsonDecoder()
    batch = pa.array(payloads, pa.binary())
    odd = pa.array([payload[:-1] + b',"extra":"new"}' for payload in payloads], pa.binary())
    bad_value = pa.array(
        [payload.replace(b'"port":443', b'"port":"443"') for payload in payloads], pa.binary()
    )
    few = batch.slice(0, len(batch) // 5)
    columns = pa.schema([field for field in arrow_schema(schema) if field.name != "_rest"])
    plain = msgspec.json.Decoder().decode
    return [
        Way("plain", lambda: [plain(each) for each in payloads], len(batch)),
        Way("pyarrow", lambda: read_with_pyarrow(payloads, columns), len(batch)),
        Way(
            "partial_decode",
            lambda: codec.partial_decode(batch, ("type", "event_time")),
            len(batch),
        ),
        Way("decode", lambda: codec.decode(batch, schema), len(batch)),
        Way("one unknown", lambda: codec.decode(odd, schema), len(batch)),
        Way("one misfit", lambda: codec.decode(bad_value, schema), len(batch)),
        Way("reference", lambda: JsonDecoder(exact_only=True).decode(few, schema), len(few)),
    ]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=20_000, help="records in a batch")
    arguments.add_argument("--turns", type=int, default=15)
    options = arguments.parse_args()
    random = Random(1)
    payloads = [msgspec.json.encode(event(random, n)) for n in range(options.records)]
    schema = JsonDecoder().infer(payloads[:1_000], "bench")
    chosen = ways(payloads, schema)
    best = {way.name: float("inf") for way in chosen}
    for _ in range(options.turns):
        for way in chosen:
            best[way.name] = min(best[way.name], cpu_s(way.run) / way.records)
    size = sum(map(len, payloads)) / len(payloads)
    print(f"{options.records} events of {size:.0f} bytes, best of {options.turns} turns")
    for name, seconds in best.items():
        ratio = best["pyarrow"] / seconds
        print(f"{name:12} {1 / seconds:12,.0f} records per CPU-second {ratio:6.2f} x pyarrow")
    verdict = "reached" if 1 / best["decode"] >= TARGET_PER_CPU_S else "missed"
    print(f"decode: target of {TARGET_PER_CPU_S:,} {verdict}")


if __name__ == "__main__":
    in_one_line(main)
