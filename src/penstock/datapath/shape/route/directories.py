"""Partition values: which directory below its dataset each row lies in.

Directories look like `day=2026-11-15/hour=07`, or `by_country=DE` for a field. Day, hour and
minute are what the clocks of the feed's zone show, so when clocks are set back two real hours
share one directory, and when they are set forward one is never made. In UTC neither happens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.event_time.zones import (
    DAY,
    FIRST_WALL,
    HOUR,
    LAST_WALL,
    SECOND,
    Micros,
    utc_to_wall,
)
from penstock.datapath.shape.route.directory_escape import (
    MAX_KEY_BYTES,
    component,
    cut,
    escape,
    unescape,
)
from penstock.datapath.shape.route.value_names import NO_TEXT, Codes, encode_scalars
from penstock.model.spec import PartitionKey

_MINUTE = 60 * SECOND
_STEPS = {"day": DAY, "hour": HOUR, "minute": _MINUTE}
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Directories:
    """A code per row into distinct paths, which are in order of appearance."""

    codes: Codes
    paths: list[str]


@dataclass(frozen=True, slots=True)
class _Level:
    """One or more directory levels, as a code per row and the components behind each code.

    `positions` are the places of these levels in the path.
    """

    positions: tuple[int, ...]
    codes: Codes
    components: list[tuple[str, ...]]


def directory_keys(keys: Sequence[PartitionKey]) -> tuple[str, ...]:
    """The name of each level: day, hour, minute, or `by_` and the last part of a field's path.

    That of a plug-in is `by_` and the name that the configuration gives it. Where two fields end
    alike (to a reader that ignores case), both get their whole path.
    """
    short = [key.path.rpartition(".")[2] if key.kind == "field" else key.path for key in keys]
    folded = [name.casefold() for key, name in zip(keys, short, strict=True) if not key.is_time]
    return tuple(
        key.kind
        if key.is_time
        else _field_key(name if name and folded.count(name.casefold()) == 1 else key.path)
        for key, name in zip(keys, short, strict=True)
    )


def keys_as_read(keys: Sequence[PartitionKey]) -> tuple[str, ...]:
    """The name of each level as readers give it to a column: without the escapes of directories."""
    return tuple(map(unescape, directory_keys(keys)))


def partition_directories(
    micros: Micros,
    keys: tuple[PartitionKey, ...],
    zone: str,
    fields: Mapping[str, Sequence[object] | pa.Array],
) -> Directories:
    """The directory of each row, by its event time and its values (by the `column` of a key).

    Runs on executors, once per dataset and batch. A field without a usable value (missing, empty,
    an object or a list) lies under Hive's name for null. Without keys the path is empty.
    """
    names = directory_keys(keys)
    levels = [
        _field_level(at, names[at], fields[key.column], len(micros))
        for at, key in enumerate(keys)
        if not key.is_time
    ]
    if len(levels) < len(keys):
        positions = tuple(at for at, key in enumerate(keys) if key.is_time)
        kinds = tuple(keys[at].kind for at in positions)
        time = _time_level(micros, kinds, positions, ZoneInfo(zone))
        if not levels:  # as in most feeds: there is nothing to combine
            return _distinct(time.codes, ["/".join(names) for names in time.components])
        levels.insert(0, time)
    return _joined(levels, len(micros), len(keys))


def time_texts(micros: Micros, kind: str, zone: str) -> list[str]:
    """The values of one level of time, one per row; what `partition_directories` does for many."""
    level = _time_level(micros, (kind,), (0,), ZoneInfo(zone))
    texts = [names[0].partition("=")[2] for names in level.components]
    return [texts[code] for code in level.codes.tolist()]


def _field_key(name: str) -> str:
    """The directory key of a field, short enough to leave room for a value."""
    return cut(f"by_{escape(name)}", MAX_KEY_BYTES, name)


def _field_level(at: int, name: str, values: Sequence[object] | pa.Array, count: int) -> _Level:
    """The level of one field."""
    if len(values) != count:
        raise ValueError(f"{len(values)} values of {name} for {count} rows")
    found = encode_scalars(values)
    components: list[tuple[str, ...]] = [(component(name, text),) for text in found.texts]
    codes = found.codes
    if (codes == NO_TEXT).any():
        codes = np.where(codes == NO_TEXT, len(components), codes).astype(np.int32)
        components.append((component(name, None),))
    return _Level((at,), codes, components)


def _time_level(
    micros: Micros, kinds: tuple[str, ...], positions: tuple[int, ...], zone: ZoneInfo
) -> _Level:
    """All levels of time together: rows that share the finest of them share the others."""
    wall = utc_to_wall(micros, zone)
    if len(wall) and not (wall.min() >= FIRST_WALL and wall.max() <= LAST_WALL):
        raise ValueError("an event time outside the calendar; such rows go to the quarantine")
    step = min(_STEPS[kind] for kind in kinds)
    found = pa.array(wall // step).dictionary_encode()
    components = [_time_components(start * step, kinds) for start in found.dictionary.to_pylist()]
    return _Level(positions, found.indices.to_numpy(), components)


@lru_cache(maxsize=100_000)
def _time_components(wall: int, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a wall-clock time, such as `day=2026-11-15` and `hour=07`."""
    day, rest = divmod(wall, DAY)
    names = {
        "day": f"day={date.fromordinal(_EPOCH_ORDINAL + day).isoformat()}",
        "hour": f"hour={rest // HOUR:02}",
        "minute": f"minute={rest % HOUR // _MINUTE:02}",
    }
    return tuple(names[kind] for kind in kinds)


def _joined(levels: list[_Level], count: int, depth: int) -> Directories:
    """Put levels together: the combinations that occur, each as one path."""
    codes: Codes = np.zeros(count, np.int32)
    combined: list[dict[int, str]] = [{}] if count else []
    for level in levels:
        pairs = codes.astype(np.int64) * len(level.components) + level.codes
        found = pa.array(pairs).dictionary_encode()
        codes = found.indices.to_numpy()
        outer_inner = [divmod(pair, len(level.components)) for pair in found.dictionary.to_pylist()]
        combined = [
            combined[outer] | dict(zip(level.positions, level.components[inner], strict=True))
            for outer, inner in outer_inner
        ]
    paths = ["/".join(parts[at] for at in range(depth)) for parts in combined]
    return _distinct(codes, paths)


def _distinct(codes: Codes, paths: list[str]) -> Directories:
    """Let equal paths share a code: the same hour of two days, where the day is not a level."""
    found: dict[str, int] = {}
    renumbered = [found.setdefault(path, len(found)) for path in paths]
    if len(found) == len(paths):
        return Directories(codes, paths)
    table: NDArray[np.int32] = np.array(renumbered, dtype=np.int32)
    return Directories(table[codes], list(found))
