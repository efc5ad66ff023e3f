"""A feed of numbers with forks, its schemas and its records."""

import json
from typing import Any

import msgspec

from penstock.model.convert_spec import Condition
from penstock.model.fork import ForkSpec
from penstock.model.schema import INT64, STRING, DatasetSchema, with_columns
from penstock.model.spec import DecodeSpec, FeedSpec, RouteSpec, TimeSpec
from tests.helpers.shredding import NOON_MS, TOPIC, Shredded

EVEN = ForkSpec("even", (Condition("n", multiple_of=2),))
ODD = ForkSpec("odd", (Condition("n", one_of=(1, 3, 5)),))
THIRD = ForkSpec("third", (Condition("n", multiple_of=3),))
FEED = FeedSpec(
    name="f",
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="at", unit="ms"),
    forks=(EVEN, ODD, THIRD),
)
SPREAD = msgspec.structs.replace(FEED, forks=(), decode=DecodeSpec(spread=True))
FIELDS = with_columns([("type", STRING, True), ("at", INT64, True), ("n", INT64, True)], top=True)


def a_schema(name: str) -> DatasetSchema:
    return DatasetSchema(name, 1, True, FIELDS)


SCHEMAS = {name: a_schema(name) for name in ("number", "even", "odd", "third", "text")}


def number(n: Any, kind: str = "number", at: Any = NOON_MS) -> bytes:
    return json.dumps({"type": kind, "at": at, "n": n}).encode()


def an_array(*elements: bytes) -> bytes:
    return b"[" + b", ".join(elements) + b"]"


def found(done: Shredded, dataset: str) -> list[tuple[int, int, int]]:
    """Offset, number of the row, and what it holds."""
    rows = [(row["_offset"], row["_row"], row["n"]) for row in done.rows(dataset)]
    return sorted(rows)
