"""Names in the lake: reversible, inside the root, visible to every reader."""

import hashlib
import re
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from penstock.model.value import Value

MAX_COMPONENT_BYTES = 120
NULL_NAME = "__HIVE_DEFAULT_PARTITION__"  # Hive's name for a missing directory value
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_WINDOW = re.compile(r"\d+-[0-9a-z]+", re.ASCII)
_FILE_NAME = re.compile(
    r"(?P<generation>\d+)_(?P<topic>.+)_(?P<partition>\d+)_(?P<start>\d+)-(?P<end>\d+)"
    r"_(?P<window>\d+-[0-9a-z]+)\.(?P<suffix>[a-z0-9.]+)",
    re.ASCII,
)

_GATHERED_NAME = re.compile(
    r"(?P<generation>\d+)_(?P<topic>.+)_(?P<first>\d+)\.\.(?P<last>\d+)_g(?P<group>\d+)"
    r"_(?P<window>\d+-[0-9a-z]+)\.(?P<suffix>[a-z0-9.]+)",
    re.ASCII,
)

_COMPACTED_NAME = re.compile(
    r"(?P<generation>\d+)_(?P<topic>.+)_c(?P<first>\d+-[0-9a-z]+)-(?P<last>\d+-[0-9a-z]+)"
    r"(?:_g(?P<group>[1-9]\d*))?_(?P<window>\d+-[0-9a-z]+)\.(?P<suffix>[a-z0-9.]+)",
    re.ASCII,
)


def encode_component(value: str) -> str:
    """The directory name of a route value: percent-encoded, never hidden, never too long.

    Reversible by `decode_component` unless the name had to be cut; a cut name ends in a mark and
    a hash of the whole value, so two long values never share a directory.
    """
    raw = value.encode("utf-8", "surrogatepass")
    if not raw:
        raise ValueError("an empty name cannot become a directory")
    text = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw)
    if text[0] in "_.":
        text = f"%{ord(text[0]):02X}{text[1:]}"
    if len(text) <= MAX_COMPONENT_BYTES:
        return text
    digest = hashlib.sha256(raw).hexdigest()[:16]
    head = text[: MAX_COMPONENT_BYTES - 20]
    return f"{re.sub('%[0-9A-F]?$', '', head)}~{digest}"


def decode_component(name: str) -> str | None:
    """The value of a directory name, or None when the name was cut."""
    if "~" in name:
        return None
    return unquote_to_bytes(name).decode("utf-8", "surrogatepass")


def window_id(epoch: int, sequence: int | str) -> str:
    """A window's id. Owners count windows; commands use a random word instead."""
    return f"{epoch}-{sequence}"


def is_window_id(word: str) -> bool:
    """True for ids made by `window_id`."""
    return _WINDOW.fullmatch(word) is not None


def epoch_of(window: str) -> int:
    """The epoch in which a window was planned."""
    if not is_window_id(window):
        raise ValueError(f"not a window id: {window!r}")
    return int(window.partition("-")[0])


class FileName(Value, frozen=True):
    """A data file's name: which offsets of which partition it covers, written by which window."""

    generation: int
    topic: str
    partition: int
    start: int
    end: int
    window: str
    suffix: str

    def __str__(self) -> str:
        return (
            f"{self.generation}_{self.topic}_{self.partition}_{self.start}-{self.end}"
            f"_{self.window}.{self.suffix}"
        )

    @classmethod
    def parse(cls, name: str) -> "FileName | None":
        """Parse a name from the right, because a topic may have any character; None if it fails."""
        found = _FILE_NAME.fullmatch(name)
        if found is None:
            return None
        return cls(
            generation=int(found["generation"]),
            topic=found["topic"],
            partition=int(found["partition"]),
            start=int(found["start"]),
            end=int(found["end"]),
            window=found["window"],
            suffix=found["suffix"],
        )


class GatheredName(Value, frozen=True):
    """The name of a file over several partitions of one topic, from the first to the last.

    `group` is the number of its file group in the window. The journal and the footer have the
    ranges; only partitions that the window has read are among them.
    """

    generation: int
    topic: str
    first: int
    last: int
    group: int
    window: str
    suffix: str

    def __str__(self) -> str:
        return (
            f"{self.generation}_{self.topic}_{self.first}..{self.last}_g{self.group}"
            f"_{self.window}.{self.suffix}"
        )

    @classmethod
    def parse(cls, name: str) -> "GatheredName | None":
        """Parse a name from the right, as `FileName.parse` does; None if it fails."""
        found = _GATHERED_NAME.fullmatch(name)
        if found is None:
            return None
        return cls(
            generation=int(found["generation"]),
            topic=found["topic"],
            first=int(found["first"]),
            last=int(found["last"]),
            group=int(found["group"]),
            window=found["window"],
            suffix=found["suffix"],
        )


class CompactedName(Value, frozen=True):
    """The name of a file that was made of the files of several windows, from the first to the last.

    `window` is the id of the compaction. `group` is the number of the file in its entry; the first
    one has none in its name. The journal and the footer have the ranges.
    """

    generation: int
    topic: str
    first: str
    last: str
    group: int
    window: str
    suffix: str

    def __str__(self) -> str:
        group = f"_g{self.group}" if self.group else ""
        return (
            f"{self.generation}_{self.topic}_c{self.first}-{self.last}{group}"
            f"_{self.window}.{self.suffix}"
        )

    @classmethod
    def parse(cls, name: str) -> "CompactedName | None":
        """Parse a name from the right, as `FileName.parse` does; None if it fails."""
        found = _COMPACTED_NAME.fullmatch(name)
        if found is None:
            return None
        return cls(
            generation=int(found["generation"]),
            topic=found["topic"],
            first=found["first"],
            last=found["last"],
            group=int(found["group"] or 0),
            window=found["window"],
            suffix=found["suffix"],
        )


AnyName: TypeAlias = FileName | GatheredName | CompactedName


def parse_name(final: str) -> AnyName | None:
    """The name of a data file that an entry delivered, in any form; None for all others."""
    name = final.rpartition("/")[2]
    return FileName.parse(name) or GatheredName.parse(name) or CompactedName.parse(name)


def windows_in(name: AnyName) -> tuple[str, str]:
    """The first and the last window whose rows a file may have, by its name."""
    if isinstance(name, CompactedName):
        return name.first, name.last
    return name.window, name.window


def window_order(window: str) -> tuple[int, int, int, str]:
    """A key that sorts window ids as they were planned; those of commands come last in an epoch."""
    sequence = window.partition("-")[2]
    if sequence.isdigit():
        return epoch_of(window), 0, int(sequence), ""
    return epoch_of(window), 1, 0, sequence


def window_in(final: str) -> str | None:
    """The window that a final name carries; None for names that no window gives.

    Every file that is ever staged has such a name, those of the quarantine and of a probe too: so
    a store that stages at the final name can tell what belongs to which window.
    """
    name = parse_name(final)
    return None if name is None else name.window
