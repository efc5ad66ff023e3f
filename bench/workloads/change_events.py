"""Envelopes of changed rows: before, after, source, op and ts_ms, as JSON of 1 to 2 KB.

One topic has the changes of several tables; the rows of each have columns of their own.
"""

from bench.workloads.dice import Dice
from bench.workloads.json_writers import Json, written
from bench.workloads.languages import PEOPLE

TABLES = ("customers", "orders", "order_lines", "products", "stock", "invoices")
OPS = "cuuuuuuudr"
_STATES = ("new", "paid", "sent", "returned")


def change_event(number: int) -> bytes:
    """The envelope with this number."""
    dice = Dice(number, 7)
    table, op = dice.pick(TABLES), dice.pick(OPS)
    at_ms = dice.time_ms()
    envelope: dict[str, object] = {
        "before": None if op in "cr" else _row(table, dice),
        "after": None if op == "d" else _row(table, dice),
        "source": _source(table, at_ms, dice),
        "op": op,
        "ts_ms": at_ms + dice.up_to(900),
        "transaction": None,
    }
    if dice.one_in(3):
        envelope["transaction"] = {
            "id": f"{dice.bits(24)}:{dice.bits(30)}",
            "total_order": dice.up_to(40),
            "data_collection_order": dice.up_to(9),
        }
    return written(envelope, dice)


def _source(table: str, at_ms: int, dice: Dice) -> Json:
    return {
        "version": "3.0.1.Final",
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": at_ms,
        "snapshot": "false",
        "db": "shop",
        "sequence": f'["{dice.bits(36)}","{dice.bits(36)}"]',
        "ts_us": at_ms * 1000 + dice.up_to(1000),
        "ts_ns": at_ms * 1_000_000 + dice.up_to(1_000_000),
        "schema": "public",
        "table": table,
        "txId": dice.bits(30),
        "lsn": dice.bits(40),
        "xmin": None,
    }


def _row(table: str, dice: Dice) -> Json:
    row: dict[str, object] = {
        "id": dice.bits(33),
        "tenant": dice.up_to(500),
        "created_at": dice.time_ms() * 1000,
        "updated_at": dice.time_ms() * 1000,
        "updated_by": dice.pick(PEOPLE),
        "comment": f"geändert durch {dice.hex(12)} / Vorgang {dice.bits(24)}",
        "deleted_at": None,
        "tags": [dice.hex(5) for _ in range(dice.up_to(4))],
        "row_hash": dice.hex(40),
        "origin": {
            "app": dice.pick(("shop-web", "shop-app", "back-office")),
            "host": f"node-{dice.up_to(40)}.internal.example",
            "request_id": dice.uuid(),
        },
    }
    if table == "customers":
        address = {"street": f"Straße {dice.up_to(300)}", "city": "Köln", "zip": None}
        row |= {"email": f"{dice.hex(8)}@example.org", "address": address, "vip": dice.one_in(9)}
    elif table in {"orders", "invoices"}:
        row |= {"state": dice.pick(_STATES), "total": f"{dice.bits(22) / 100:.2f}", "lines": []}
    elif table == "order_lines":
        row |= {"order_id": dice.bits(33), "sku": dice.hex(12), "quantity": dice.between(1, 9)}
    else:
        row |= {"sku": dice.hex(12), "price": dice.bits(20) / 100, "attributes": {}}
    return row
