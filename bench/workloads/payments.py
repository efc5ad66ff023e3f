"""Payments: half a kilobyte, decimals as texts, money as objects, times with an offset."""

from datetime import UTC, datetime, timedelta, timezone

from bench.workloads.dice import Dice
from bench.workloads.json_writers import Json, written
from bench.workloads.languages import PEOPLE

TYPES = (
    "authorized", "captured", "refunded", "settled", "disputed", "failed", "voided", "paid_out",
    "fee",
)  # fmt: skip
_ZONES = (UTC, timezone(timedelta(hours=1)), timezone(timedelta(hours=-5)))
_CURRENCIES = ("EUR", "USD", "SEK", "JPY")


def payment(number: int) -> bytes:
    """The payment with this number."""
    dice = Dice(number, 4)
    kind = dice.pick(TYPES)
    currency = dice.pick(_CURRENCIES)
    at = datetime.fromtimestamp(dice.time_ms() / 1000, dice.pick(_ZONES))
    record: dict[str, object] = {
        "type": kind,
        "id": f"pay_{dice.hex(20)}",
        "created_at": at.isoformat(timespec="milliseconds"),
        "amount": _money(dice, currency),
        "fee": _money(dice, currency) if dice.one_in(2) else None,
        "method": {"kind": "card", "brand": "visa", "last4": f"{dice.up_to(10_000):04}"},
        "payer": {"id": f"cus_{dice.hex(14)}", "name": dice.pick(PEOPLE), "address": None},
        "merchant_id": dice.bits(32),
        "reference": f"RF{dice.up_to(90)} / {dice.up_to(10**9)}",
        "metadata": {},
        "splits": [],
    }
    if kind in {"disputed", "failed"}:
        record["reason"] = {"code": dice.up_to(99), "text": dice.pick(("fraud", "no funds"))}
    if dice.one_in(5):
        record["splits"] = [
            {"account": dice.hex(8), "amount": _money(dice, currency)} for _ in range(2)
        ]
    if dice.one_in(4):
        record["exchange_rate"] = f"{dice.between(50_000, 150_000) / 100_000:.5f}"
    return written(record, dice)


def _money(dice: Dice, currency: str) -> Json:
    return {"value": f"{dice.bits(24) / 100:.2f}", "currency": currency}
