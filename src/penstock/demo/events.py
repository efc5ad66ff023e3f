"""The events of the demo: six types, each with its own fields, over seven days.

Generated from a seed, so every run has the same events; only the days depend on the calendar. Most
events are in order. Some are late by days, some are early by hours, a few are broken in five
different ways, and a few have no value at all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import msgspec

from penstock.testing.kafka_client import Record

PARTITIONS = 4
DAYS = 7
DAY_MS = 86_400_000
SEED = 20_261_116
TOMBSTONES = 24
FAR_AHEAD_MS = 400 * DAY_MS

TYPES = ("page_view", "click", "order", "payment", "sensor", "signup")
_WEIGHTS = (40, 65, 77, 85, 95, 100)  # of a hundred events, counted up
_CITIES = ("Berlin", "Lyon", "Porto", "Oslo", "Kraków", "München")
_PAGES = ("/", "/search", "/cart", "/product/17", "/product/42", "/help")
_DAY_SHARES = (15, 16, 14, 17, 21, 9, 8)  # of a hundred events; two of the days are a weekend
_LATE, _EARLY = 0.06, 0.03


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic to write: the number of records, the first day of the week, and the seed."""

    records: int
    first_day_ms: int
    seed: int = SEED

    def of_partition(self, partition: int) -> Iterator[Record]:
        """The records of one partition, in the order of writing."""
        chance = Random(f"{self.seed}/{partition}")  # noqa: S311 -- not a secret
        odd = self._odd_ones()
        for number in range(partition, self.records, PARTITIONS):
            event = _event(number, self._time_of(number, chance), chance)
            yield _record(odd.get(number, ""), event)

    def odd_ones(self) -> dict[str, int]:
        """How many records of each unusual kind there are."""
        kinds = list(self._odd_ones().values())
        return {kind: kinds.count(kind) for kind in ("tombstone", *BROKEN)}

    def _odd_ones(self) -> dict[int, str]:
        """Which records are unusual, and in what way; the same for every partition."""
        kinds = [kind for kind, how in BROKEN.items() for _ in range(how.many)]
        kinds += ["tombstone"] * TOMBSTONES
        chance = Random(self.seed)  # noqa: S311
        return dict(zip(chance.sample(range(self.records), len(kinds)), kinds, strict=True))

    def _time_of(self, number: int, chance: Random) -> int:
        """The event time advances with the offset, but some events are late or early."""
        span = DAYS * DAY_MS
        at = _hour_of_the_week(number / self.records)
        dice = chance.random()
        if dice < _LATE:
            at -= int(chance.random() * 3 * DAY_MS)
        elif dice < _LATE + _EARLY:
            at += int(chance.random() * DAY_MS / 3)
        return self.first_day_ms + min(max(at, 0), span - 1)


def _hour_of_the_week(share: float) -> int:
    """The time in the week after this share of all events, in milliseconds."""
    left = share * sum(_DAY_SHARES)
    for day, size in enumerate(_DAY_SHARES):
        if left < size:
            return int((day + left / size) * DAY_MS)
        left -= size
    return DAYS * DAY_MS - 1


def week_before(now_s: float) -> int:
    """The first millisecond of the seven whole days (UTC) that end before now."""
    return (int(now_s * 1000) // DAY_MS - DAYS) * DAY_MS


def _event(number: int, at_ms: int, chance: Random) -> dict[str, Any]:
    dice = chance.random() * 100
    kind = next(k for k, limit in zip(TYPES, _WEIGHTS, strict=True) if dice < limit)
    common = {
        "type": kind,
        "event_time": at_ms,
        "id": number,
        "user_id": int(chance.random() * 50_000),
    }
    return common | _OWN_FIELDS[kind](chance)


def _page_view(chance: Random) -> dict[str, Any]:
    size = (1920, 1080) if chance.random() < 0.6 else (390, 844)
    screen = {"width": size[0], "height": size[1]}
    return {
        "url": _one(_PAGES, chance),
        "took_ms": int(chance.random() * 900),
        "device": {"os": _one(("ios", "android", "web"), chance), "screen": screen},
    }


def _click(chance: Random) -> dict[str, Any]:
    place = {"x": int(chance.random() * 1920), "y": int(chance.random() * 1080)}
    return {"url": _one(_PAGES, chance), "element": f"b{int(chance.random() * 40)}", "at": place}


def _order(chance: Random) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {"sku": f"A{int(chance.random() * 900)}", "quantity": n + 1, "price": _money(chance)}
        for n in range(1 + int(chance.random() * 3))
    ]
    total = round(sum(item["quantity"] * item["price"] for item in items), 2)
    ship_to = {"city": _one(_CITIES, chance), "express": chance.random() < 0.2}
    return {"amount": total, "currency": "EUR", "items": items, "ship_to": ship_to}


def _payment(chance: Random) -> dict[str, Any]:
    paid: dict[str, Any] = {"amount": _money(chance), "ok": chance.random() < 0.97}
    if chance.random() < 0.7:
        brand = _one(("visa", "mastercard"), chance)
        return paid | {"method": "card", "card": {"brand": brand, "country": "DE"}}
    return paid | {"method": "transfer"}


def _sensor(chance: Random) -> dict[str, Any]:
    readings = {
        "temperature": round(15 + chance.random() * 12, 2),
        "humidity": round(chance.random(), 3),
    }
    return {"device_id": f"s-{int(chance.random() * 500):03}", "readings": readings}


def _signup(chance: Random) -> dict[str, Any]:
    consent = {"terms": True, "newsletter": chance.random() < 0.4}
    return {"plan": _one(("free", "team", "pro"), chance), "consent": consent}


_OWN_FIELDS = {
    "page_view": _page_view,
    "click": _click,
    "order": _order,
    "payment": _payment,
    "sensor": _sensor,
    "signup": _signup,
}


def _truncated(event: dict[str, Any]) -> bytes:
    whole = msgspec.json.encode(event)
    return whole[: len(whole) * 2 // 3]


def _wrong_type(event: dict[str, Any]) -> bytes:
    amount = {"type": "payment", "amount": "a lot", "method": "card", "ok": True}
    kept = {key: event[key] for key in ("event_time", "id", "user_id")}
    return msgspec.json.encode(kept | amount)


def _no_type(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode({key: value for key, value in event.items() if key != "type"})


def _not_utf8(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode(event | {"note": "?"}).replace(b'"?"', b'"caf\xe9"')


def _far_ahead(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode(event | {"event_time": event["event_time"] + FAR_AHEAD_MS})


class Breakage(NamedTuple):
    """A kind of broken record, and how many there are."""

    spoil: Callable[[dict[str, Any]], bytes]
    many: int


BROKEN = {
    "cut off": Breakage(_truncated, 18),
    "wrong type": Breakage(_wrong_type, 14),
    "no type": Breakage(_no_type, 12),
    "not UTF-8": Breakage(_not_utf8, 9),
    "from the future": Breakage(_far_ahead, 7),
}


def _record(odd: str, event: dict[str, Any]) -> Record:
    key = b"user-%d" % event["user_id"]
    if odd == "tombstone":
        return Record(None, key)
    return Record(BROKEN[odd].spoil(event) if odd else msgspec.json.encode(event), key)


def _one(choices: tuple[str, ...], chance: Random) -> str:
    return choices[int(chance.random() * len(choices))]


def _money(chance: Random) -> float:
    return round(1 + chance.random() * 120, 2)
