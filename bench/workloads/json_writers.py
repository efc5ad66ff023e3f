"""Several writers of one topic: the same object in another order, with spaces, with escapes.

    one record in ten      its keys in another order, at every depth
    every second one       spaces after separators
    one in ten             all that is not ASCII escaped, as in é
    one in ten             slashes escaped as well, as in https:\\/\\/

Who writes a record is chance, so that every partition and every batch has all of them.
"""

import json
from collections.abc import Mapping

from bench.workloads.dice import Dice

Json = Mapping[str, object]
SHUFFLED_ONE_IN = 10
ESCAPED_ONE_IN = 10
_WRITERS = {
    (is_spaced, is_escaped): json.JSONEncoder(
        ensure_ascii=is_escaped, separators=(", ", ": ") if is_spaced else (",", ":")
    ).encode
    for is_spaced in (False, True)
    for is_escaped in (False, True)
}


def written(record: Json, dice: Dice) -> bytes:
    """The record as one of the writers writes it."""
    if dice.one_in(SHUFFLED_ONE_IN):
        record = _shuffled(record, dice)
    is_spaced = dice.one_in(2)
    style = dice.up_to(ESCAPED_ONE_IN)
    text = _WRITERS[is_spaced, style < 2](record)
    if style == 1:
        text = text.replace("/", "\\/")  # a slash is always inside a text
    return text.encode()


def _shuffled(record: Json, dice: Dice) -> Json:
    """The same members in another order, and those of all objects inside."""
    names = sorted(record, key=lambda _: dice.bits(32))
    return {name: _inside(record[name], dice) for name in names}


def _inside(value: object, dice: Dice) -> object:
    if isinstance(value, dict):
        return _shuffled(value, dice)
    if isinstance(value, list):
        return [_inside(each, dice) for each in value]
    return value
