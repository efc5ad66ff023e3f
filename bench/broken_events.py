"""The events of the benches with every hundredth one broken, in four ways that take turns.

The broken ones are spread over all partitions. Types are declared, so that a value of another type
is a fault and no news.
"""

import json
from collections.abc import Callable

from bench.events import OWN_FIELDS, event

JSON_TYPES = {"text": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
ONE_IN = 100
_SHIFTS = 4  # with as many partitions, each gets its share

_WAYS: tuple[Callable[[bytes], bytes], ...] = (
    lambda whole: whole[: len(whole) * 2 // 3],
    lambda whole: b"<event>" + whole[1:-1] + b"</event>",
    lambda whole: whole.replace(b'"user_id":', b'"user_id":[0],"was":'),
    lambda whole: whole.replace(b'"event_time":', b'"no_time":'),
)


def is_broken(number: int) -> bool:
    """True for one event in every hundred."""
    return number % ONE_IN == number // ONE_IN % _SHIFTS


def broken_event(number: int, types: int) -> bytes:
    """The event with this number, whole or broken."""
    whole = event(number, types)
    if not is_broken(number):
        return whole
    return _WAYS[number // (ONE_IN * _SHIFTS) % len(_WAYS)](whole)


def declared_schema(kind: int) -> str:
    """The JSON Schema of a type. Nothing is required: an event without a time is told apart."""
    own = {name: {"type": JSON_TYPES[word]} for name, word in OWN_FIELDS[kind % len(OWN_FIELDS)]}
    device = {"os": {"type": "string"}, "build": {"type": "integer"}}
    common = {
        "type": {"type": "string"},
        "event_time": {"type": "integer"},
        "id": {"type": "string"},
        "user_id": {"type": "integer"},
        "session": {"type": "string"},
        "country": {"type": "string"},
        "device": {"type": "object", "properties": device},
    }
    return json.dumps({"type": "object", "properties": common | own})
