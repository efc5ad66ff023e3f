"""What passed the proxy: a record for each request, to count and to compare."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock

from penstock.testing.proxy.proxied_request import ProxiedRequest

_MOST_RECORDS = 200_000


@dataclass(frozen=True, slots=True)
class Record:
    """One request. `status` is what the client was to get; None: the connection ended before.

    `forwarded`: the store has seen it. `act` names what a rule or the policy did. Sizes are those
    of bodies on the wire.
    """

    method: str
    operation: str
    bucket: str
    key: str
    query: tuple[tuple[str, str], ...] = ()
    act: str = ""
    forwarded: bool = False
    status: int | None = None
    request_bytes: int = 0
    reply_bytes: int = 0


class Note:
    """The record of a request that is on its way."""

    def __init__(self, records: "Records", record: Record) -> None:
        self._records = records
        self.record = record

    def write(self, **known: str | int | bool) -> None:
        """Put down what is known now."""
        self._records.update(self, lambda record: replace(record, **known))  # type: ignore[arg-type]

    def add_bytes(self, *, request: int = 0, reply: int = 0) -> None:
        """Count bytes of the bodies."""
        self._records.update(
            self,
            lambda record: replace(
                record,
                request_bytes=record.request_bytes + request,
                reply_bytes=record.reply_bytes + reply,
            ),
        )


class Records:
    """The newest records, in the order in which the requests came. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._notes: deque[Note] = deque(maxlen=_MOST_RECORDS)

    def begin(self, request: ProxiedRequest) -> Note:
        """A record for a request that has come in."""
        note = Note(
            self,
            Record(request.method, request.operation, request.bucket, request.key, request.query),
        )
        with self._lock:
            self._notes.append(note)
        return note

    def update(self, note: Note, change: Callable[[Record], Record]) -> None:
        """Replace the record of a note."""
        with self._lock:
            note.record = change(note.record)

    def all(self) -> list[Record]:
        """Every record so far, also of requests that are still on their way."""
        with self._lock:
            return [note.record for note in self._notes]

    def clear(self) -> None:
        """Forget what is over; counting begins again."""
        with self._lock:
            self._notes.clear()

    def count(self) -> Counter[str]:
        """How many requests there were of each operation."""
        return Counter(record.operation for record in self.all())
