"""A sign of life of a journal's owner, as it lies in the lake, and what is seen of others."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from penstock.model.process_id import Process
from penstock.model.value import Value

BEAT_S = 5.0
STALE_S = 15.0


class Beat(Value, frozen=True):
    """One sign of life. `released`: the holder ended in good order.

    A subclass may add what the holder says about its work; each of its fields needs a default.
    """

    lease: int
    beat: int
    owner: str
    process: Process
    at: str
    nonce: str
    released: bool = False


T = TypeVar("T", bound=Beat)


@dataclass(frozen=True, slots=True)
class SeenBeat(Generic[T]):
    """The newest beat of one lease; `mark` is another one as soon as a newer beat is there."""

    mark: str
    beat: T


def understood(raw: bytes, lease: int, beat: int, beats: msgspec.json.Decoder[T]) -> T:
    """What a beat says; of one that says nothing to us only its silence counts."""
    try:
        return beats.decode(raw)
    except msgspec.MsgspecError:
        return unknown_beat(lease, beat, beats)


def unknown_beat(lease: int, beat: int, beats: msgspec.json.Decoder[T]) -> T:
    """A beat of which only its numbers are known."""
    return beats.type(lease, beat, "unknown", Process("", 0), "", "")
