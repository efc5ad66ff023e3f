"""Wide rows: two hundred columns, flat; texts, numbers, flags, and nulls here and there."""

from bench.workloads.dice import Dice
from bench.workloads.json_writers import written

KINDS = ("pump", "valve", "turbine", "gate", "meter")
COLUMNS = 200
_COMMON = 4
_WORDS = ("raw", "avg", "flag", "note")
_NAMES = tuple(f"m{place:03}_{_WORDS[place % 4]}" for place in range(COLUMNS - _COMMON))


def wide_row(number: int) -> bytes:
    """The row with this number."""
    dice = Dice(number, 5)
    row: dict[str, object] = {
        "kind": dice.pick(KINDS),
        "at": dice.time_ms() // 1000,
        "device_id": dice.bits(40),
        "site": f"werk-{dice.up_to(30)}",
    }
    bits = dice.bits(32 * len(_NAMES))
    for place, name in enumerate(_NAMES):
        mine = bits >> 32 * place & 0xFFFFFFFF
        row[name] = _value(place, mine)
    return written(row, dice)


def _value(place: int, bits: int) -> object:
    if bits % 16 == 0:
        return None
    match place % 4:
        case 0:
            return bits >> 8
        case 1:
            return (bits >> 8) / 64
        case 2:
            return bits & 32 > 0
        case _:
            return f"st-{bits >> 20:x}"
