"""The bytes of one payload, read step by step, in either protocol. For the reference."""

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass

from penstock.datapath.codec.shared.reasons import OUT_OF_RANGE, TRUNCATED, BadValue
from penstock.datapath.codec.thrift.types import (
    FIELD_WIRES,
    I16,
    I32,
    I64,
    ITEM_WIRES,
    LAST_NUMBER,
    NO_WIRE,
    NOTHING,
    STOP,
)

_LONGEST_VARINT = 10
_LARGEST_SIZE = 2**31 - 1
_LAYOUTS = {I16: ">h", I32: ">i", I64: ">q"}


@dataclass(frozen=True, slots=True)
class FieldHeader:
    """What stands before a field. `truth` is the value of a boolean without bytes of its own."""

    wire: int
    number: int
    truth: bool = False


class PayloadBytes(ABC):
    """One payload and how far it was read. All that reads raises BadValue."""

    largest_truth: int

    def __init__(self, payload: bytes, at: int) -> None:
        self._payload = payload
        self._at = at

    @property
    def left(self) -> int:
        """How many bytes were not read."""
        return len(self._payload) - self._at

    def take(self, count: int, path: str) -> bytes:
        """The next bytes."""
        if count > self.left:
            raise BadValue(TRUNCATED, path, "the payload ends inside")
        start, self._at = self._at, self._at + count
        return self._payload[start : self._at]

    def check_items(self, size: int, path: str) -> None:
        """Refuse a count of values that cannot follow, since each of them takes a byte at least."""
        if size > self.left:
            raise BadValue(TRUNCATED, path, f"the payload ends inside {size} items")

    def truth(self, path: str) -> bool:
        """A boolean that has a byte of its own."""
        found = self.take(1, path)[0]
        if found > self.largest_truth:
            raise BadValue(OUT_OF_RANGE, path, "neither true nor false")
        return found == 1

    def size(self, path: str) -> int:
        """A length or a count."""
        found = self._size(path)
        if not 0 <= found <= _LARGEST_SIZE:
            raise BadValue(OUT_OF_RANGE, path, f"a length of {found}")
        return found

    @abstractmethod
    def header(self, last: int, path: str) -> FieldHeader:
        """What stands before a field, or the end of a struct; `last` is the number before."""

    @abstractmethod
    def list_header(self, path: str) -> tuple[int, int]:
        """The type of the items of a list or set, and how many there are."""

    @abstractmethod
    def map_header(self, path: str) -> tuple[int, int, int]:
        """The types of the keys and values of a map, and how many there are."""

    @abstractmethod
    def whole(self, wire: int, path: str) -> int:
        """A whole number of some type."""

    @abstractmethod
    def skip_whole(self, wire: int, path: str) -> None:
        """Step over a whole number."""

    @abstractmethod
    def double(self, raw: bytes) -> float:
        """A number of eight bytes."""

    @abstractmethod
    def _size(self, path: str) -> int: ...


class BinaryBytes(PayloadBytes):
    """The binary protocol: numbers of a fixed width, the highest byte first."""

    largest_truth = 1

    def header(self, last: int, path: str) -> FieldHeader:  # noqa: ARG002
        """A byte for the type, two for the number."""
        wire = self.take(1, path)[0]
        if wire == STOP:
            return FieldHeader(STOP, 0)
        return FieldHeader(NO_WIRE if wire == NOTHING else wire, self.whole(I16, path))

    def list_header(self, path: str) -> tuple[int, int]:
        """A byte for the type, four for the count."""
        return self._item_wire(path), self.size(path)

    def map_header(self, path: str) -> tuple[int, int, int]:
        """A byte for each type, four for the count."""
        return self._item_wire(path), self._item_wire(path), self.size(path)

    def whole(self, wire: int, path: str) -> int:
        """As many bytes as the type has."""
        layout = _LAYOUTS[wire]
        found: int = struct.unpack(layout, self.take(struct.calcsize(layout), path))[0]
        return found

    def skip_whole(self, wire: int, path: str) -> None:
        """As many bytes as the type has."""
        self.whole(wire, path)

    def double(self, raw: bytes) -> float:
        """The highest byte is the first."""
        found: float = struct.unpack(">d", raw)[0]
        return found

    def _size(self, path: str) -> int:
        return self.whole(I32, path)

    def _item_wire(self, path: str) -> int:
        found = self.take(1, path)[0]
        return NO_WIRE if found in {STOP, NOTHING} else found


class CompactBytes(PayloadBytes):
    """The compact protocol: numbers of seven bits per byte, and types of four bits."""

    largest_truth = 2

    def header(self, last: int, path: str) -> FieldHeader:
        """A step from the number before and the type; or the type alone, and then the number."""
        head = self.take(1, path)[0]
        if head == STOP:
            return FieldHeader(STOP, 0)
        step, wire = head >> 4, FIELD_WIRES[head & 15]
        number = last + step if step else self._zigzag(path)
        if wire == STOP:
            raise BadValue(OUT_OF_RANGE, path, "the end of a struct with a number")
        if not -LAST_NUMBER - 1 <= number <= LAST_NUMBER:
            raise BadValue(OUT_OF_RANGE, path, f"no field has the number {number}")
        return FieldHeader(wire, number, head & 15 == 1)

    def list_header(self, path: str) -> tuple[int, int]:
        """The count and the type in one byte; or the type alone, and then the count."""
        head = self.take(1, path)[0]
        size = head >> 4
        return ITEM_WIRES[head & 15], self.size(path) if size == 15 else size

    def map_header(self, path: str) -> tuple[int, int, int]:
        """The count, then both types in one byte; an empty map has none."""
        size = self.size(path)
        if size == 0:
            return NO_WIRE, NO_WIRE, 0
        kinds = self.take(1, path)[0]
        return ITEM_WIRES[kinds >> 4], ITEM_WIRES[kinds & 15], size

    def whole(self, wire: int, path: str) -> int:
        """Seven bits per byte, the sign in the lowest bit."""
        found = self._zigzag(path)
        most = 1 << 8 * struct.calcsize(_LAYOUTS[wire]) - 1
        if not -most <= found < most:
            raise BadValue(OUT_OF_RANGE, path, f"{found} has too many bits for its type")
        return found

    def skip_whole(self, wire: int, path: str) -> None:  # noqa: ARG002
        """Seven bits per byte."""
        self._varint(path)

    def double(self, raw: bytes) -> float:
        """The lowest byte is the first, by an old mistake that has become the rule."""
        found: float = struct.unpack("<d", raw)[0]
        return found

    def _size(self, path: str) -> int:
        return self._varint(path)

    def _zigzag(self, path: str) -> int:
        found = self._varint(path)
        return (found >> 1) ^ -(found & 1)

    def _varint(self, path: str) -> int:
        """A number of up to 64 bits without a sign."""
        found = shift = 0
        for _ in range(_LONGEST_VARINT):
            byte = self.take(1, path)[0]
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        else:
            raise BadValue(OUT_OF_RANGE, path, "a number in more than ten bytes")
        if found >= 2**64:
            raise BadValue(OUT_OF_RANGE, path, "a number of more than 64 bits")
        return found
