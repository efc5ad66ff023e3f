"""Keys that a store takes: directories that would make too long a key are cut.

Names of datasets, values and files are short each; many levels together may still be longer than
a whole key may be. Then the longest levels are cut, each with a hash of what it was, so that a
value has the same directory in every window and two values never share one.
"""

from collections.abc import Iterable

from penstock.datapath.shape.route.directories import directory_keys
from penstock.datapath.shape.route.directory_escape import SHORTEST_CUT_BYTES, cut
from penstock.model.names import MAX_COMPONENT_BYTES, NULL_NAME
from penstock.model.spec import PartitionKey

# The longest name of a data file: the topic, and numbers of up to 19 digits around it.
FILE_NAME_BYTES = 240
_TIME_BYTES = len("day=2026-11-15")


def room_for_directories(longest_key_bytes: int, base: str) -> int:
    """How many bytes the directories below the directory `base` of a dataset may have."""
    return longest_key_bytes - len(base.encode()) - FILE_NAME_BYTES - len("//")


def least_room(keys: Iterable[PartitionKey]) -> int:
    """How many bytes directories with these keys need if every value is cut as far as possible."""
    short = max(SHORTEST_CUT_BYTES, len(NULL_NAME))
    levels = [
        _TIME_BYTES if key.is_time else len(name.encode()) + len("=") + short
        for key, name in zip(keys, directory_keys(tuple(keys)), strict=True)
    ]
    return sum(levels) + max(len(levels) - 1, 0)


def least_key_bytes(feed: str, keys: tuple[PartitionKey, ...]) -> int:
    """How long a key of a feed's data has to be allowed to be, whatever the records are."""
    base = f"{feed}/{'d' * MAX_COMPONENT_BYTES}"
    return least_room(keys) - room_for_directories(0, base)


def fitted(path: str, room_bytes: int) -> str:
    """The directories `a=b/c=d`, with the longest levels cut if they need more room.

    Raises `ValueError` if there is no room for that, which is refused when a feed starts.
    """
    if len(path) * 4 <= room_bytes or len(path.encode()) <= room_bytes:
        return path
    levels = path.split("/")
    sizes = [len(level.encode()) for level in levels]
    most = max(sizes)
    while sum(min(size, most) for size in sizes) + len(levels) - 1 > room_bytes:
        most -= 1
    return "/".join(
        _cut_level(level, most) if size > most else level
        for level, size in zip(levels, sizes, strict=True)
    )


def _cut_level(level: str, most_bytes: int) -> str:
    key = level.partition("=")[0]
    if most_bytes < len(key.encode()) + len("=") + SHORTEST_CUT_BYTES:
        raise ValueError(f"{most_bytes} bytes are too few for a directory of {key}")
    return cut(level, most_bytes, level)
