"""The envelopes of `change_envelopes` in Protobuf: about 200 bytes, before and after as messages.

The same changes with the same numbers. Rows have a map, packed numbers, money and times as messages
of their own, an enum and optional fields. As proto3 has it, what is zero or empty is not written,
unless it is `optional`.
"""

from bench.proto_events import proto_integer, proto_piece, proto_text, proto_varint
from bench.workloads.change_envelopes import SALT
from bench.workloads.changed_rows import OPS, STATES, Change, ChangedRow, change_of
from bench.workloads.dice import Dice

MESSAGE = "shop.Change"
_NANOS_PER_CENT = 10_000_000


def proto_envelope_schema() -> str:
    """The schema file of the envelopes."""
    return f"""syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";

enum Op {{ {_enum("OP", OPS)} }}
enum State {{ {_enum("STATE", STATES)} }}
message Money {{ string currency = 1; int64 units = 2; int32 nanos = 3; }}
message Row {{
  int64 id = 1;
  optional string customer = 2;
  Money total = 3;
  State state = 4;
  google.protobuf.Timestamp created_at = 5;
  optional string note = 6;
  map<string, string> attributes = 7;
  repeated int64 line_ids = 8;
}}
message Source {{
  string db = 1;
  string table = 2;
  int64 lsn = 3;
  optional int64 tx_id = 4;
  bool snapshot = 5;
}}
message Change {{
  optional Row before = 1;
  optional Row after = 2;
  Source source = 3;
  Op op = 4;
  google.protobuf.Timestamp ts = 5;
}}
"""


def proto_envelope(number: int) -> bytes:
    """The envelope with this number, without a frame."""
    change = change_of(Dice(number, SALT), "orders")
    rows = enumerate((change.before, change.after), 1)
    return b"".join(
        (
            *(proto_piece(field, _row(row)) for field, row in rows if row is not None),
            proto_piece(3, _source(change)),
            proto_integer(4, change.op),
            proto_piece(5, _moment(change.at_ms * 1000)),
        )
    )


def _row(row: ChangedRow) -> bytes:
    units, cents = divmod(row.total_cents, 100)
    money = (
        proto_text(1, "EUR"), proto_integer(2, units), proto_integer(3, cents * _NANOS_PER_CENT),
    )  # fmt: skip
    pairs = (proto_text(1, name) + proto_text(2, value) for name, value in row.attributes)
    parts = [
        proto_integer(1, row.id),
        b"" if row.customer is None else proto_text(2, row.customer),
        proto_piece(3, b"".join(money)),
        proto_integer(4, row.state),
        proto_piece(5, _moment(row.created_us)),
        b"" if row.note is None else proto_text(6, row.note),
        *(proto_piece(7, pair) for pair in pairs),
        proto_piece(8, b"".join(map(proto_varint, row.line_ids))) if row.line_ids else b"",
    ]
    return b"".join(parts)


def _source(change: Change) -> bytes:
    parts = [proto_text(1, "shop"), proto_text(2, change.table), proto_integer(3, change.lsn)]
    if change.transaction is not None:
        parts.append(proto_integer(4, change.transaction, is_optional=True))
    return b"".join(parts)  # no snapshot


def _moment(us: int) -> bytes:
    seconds, rest = divmod(us, 1_000_000)
    return proto_integer(1, seconds) + proto_integer(2, rest * 1000)


def _enum(prefix: str, names: tuple[str, ...]) -> str:
    return " ".join(f"{prefix}_{name} = {number};" for number, name in enumerate(names))
