"""Changed rows of a shop's tables, as values: what the envelopes in Avro and Protobuf hold."""

from dataclasses import dataclass

from bench.workloads.dice import Dice

OPS = ("CREATE", "UPDATE", "DELETE", "READ")
STATES = ("NEW", "PAID", "SENT", "RETURNED")
CREATE, UPDATE, DELETE, READ = range(len(OPS))
_USUAL = (CREATE, *[UPDATE] * 7, DELETE, READ)


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row before or after a change. `state` is a place in STATES."""

    id: int
    customer: str | None
    total_cents: int
    state: int
    created_us: int
    note: str | None
    attributes: tuple[tuple[str, str], ...]
    line_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a row of a table. `op` is a place in OPS."""

    before: ChangedRow | None
    after: ChangedRow | None
    table: str
    lsn: int
    transaction: int | None
    op: int
    at_ms: int


def change_of(dice: Dice, table: str) -> Change:
    """The change that chance says; a row has no `before` when it is new."""
    op = dice.pick(_USUAL)
    before = None if op in (CREATE, READ) else _row(dice)
    after = None if op == DELETE else _row(dice)
    transaction = None if dice.one_in(5) else dice.bits(28)
    lsn = dice.bits(36)
    return Change(before, after, table, lsn, transaction, op, dice.time_ms())


def _row(dice: Dice) -> ChangedRow:
    total = dice.bits(22)
    pairs = (("farbe", "grün"), ("gift", "no"), ("ref", dice.hex(6)))[: dice.up_to(4)]
    lines = tuple(dice.bits(20) for _ in range(dice.up_to(6)))
    number = dice.bits(33)
    customer = _optional(f"C-{dice.hex(13)}", is_absent=dice.one_in(9))
    state = dice.up_to(len(STATES))
    created_us = dice.time_ms() * 1000 + dice.up_to(1000)
    note = _optional(f"Lieferung {dice.hex(16)}", is_absent=dice.one_in(3))
    return ChangedRow(number, customer, total, state, created_us, note, pairs, lines)


def _optional(text: str, *, is_absent: bool) -> str | None:
    return None if is_absent else text
