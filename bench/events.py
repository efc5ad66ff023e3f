"""The events of the benches: JSON of about 200 bytes, each like no other, the same in every run.

Types take turns by chance and over three days. Each has two fields of its own beside the common
ones. An event depends on its number alone, so a topic can be written again as it was.
"""

import struct
from collections.abc import Callable
from hashlib import blake2b

DAYS = 3
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
# Noon: an hour before it is still the same day, so there are always three days.
NOON_MS = 1_768_478_400_000  # 2026-01-15T12:00:00Z
COUNTRIES = ("DE", "FR", "US", "BR", "IN", "JP")
SYSTEMS = ("ios", "android", "web")
# Two fields of its own per type: a name, and a kind.
OWN_FIELDS = [
    (("url", "text"), ("referrer", "text")),
    (("element", "text"), ("x", "integer")),
    (("query", "text"), ("hits", "integer")),
    (("method", "text"), ("ok", "boolean")),
    (("seconds", "number"), ("ok", "boolean")),
    (("plan", "text"), ("invited", "boolean")),
    (("sku", "text"), ("quantity", "integer")),
    (("amount", "number"), ("currency", "text")),
    (("amount", "number"), ("why", "text")),
    (("target", "text"), ("public", "boolean")),
    (("stars", "integer"), ("score", "number")),
    (("code", "integer"), ("message", "text")),
]
SPARK_TYPES = {"text": "string", "integer": "bigint", "number": "double", "boolean": "boolean"}

# From 64 random bits to a JSON value of a kind.
_VALUES: dict[str, Callable[[int], object]] = {
    "text": lambda bits: f'"{bits >> 16:x} and {bits & 0xFFFFF}"',
    "integer": lambda bits: bits & 0xFFFFFF,
    "number": lambda bits: bits % 100_000 / 100,
    "boolean": lambda bits: "true" if bits & 1 else "false",
}
_MAKERS = [[(name, _VALUES[kind]) for name, kind in fields] for fields in OWN_FIELDS]
_WORDS = struct.Struct(">8Q")


def chance_of(number: int) -> tuple[int, ...]:
    """Eight words by chance, the same for the same number: quick, and in any order."""
    return _WORDS.unpack(blake2b(number.to_bytes(8, "big")).digest())


def time_ms(choice: int, chance: int) -> int:
    """When an event happened: on one of three days, in the hour before noon."""
    return NOON_MS - (choice >> 32) % DAYS * DAY_MS - chance % HOUR_MS


def event(number: int, types: int) -> bytes:
    """The event with this number, as JSON."""
    choice, chance, identity, person, place, device, first, second = chance_of(number)
    kind = choice % types
    at_ms = time_ms(choice, chance)
    (name, value), (other_name, other_value) = _MAKERS[kind % len(_MAKERS)]
    return (
        f'{{"type":"{type_name(kind)}","event_time":{at_ms},"id":"{identity:016x}",'
        f'"user_id":{person & 0x3FFFFFFF},"session":"{person >> 32:08x}",'
        f'"country":"{COUNTRIES[place % 6]}",'
        f'"device":{{"os":"{SYSTEMS[device % 3]}","build":{number % 997}}},'
        f'"{name}":{value(first)},"{other_name}":{other_value(second)}}}'
    ).encode()


def type_name(kind: int) -> str:
    """The name of a type by its number."""
    return f"kind_{kind:03}"


def superset() -> str:
    """All fields of all types, as Spark writes schemas."""
    common = (
        "type string, event_time bigint, id string, user_id bigint, session string, "
        "country string, device struct<os: string, build: bigint>"
    )
    own = {name: SPARK_TYPES[kind] for fields in OWN_FIELDS for name, kind in fields}
    return ", ".join([common, *(f"{name} {kind}" for name, kind in own.items())])
