"""Inference as a reference: from the texts of values, one by one. It knows no settled types."""

from penstock.datapath.codec.json.inference import may_be_column
from penstock.datapath.codec.json.payload import fault_of
from penstock.datapath.codec.json.value_text import (
    is_integer,
    items_of,
    kind_of,
    members_of,
    says_nothing,
)
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.shapes import INT64_MAX, INT64_MIN
from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    MAX_NESTING,
    STRING,
    FieldType,
    list_of,
    struct_of,
    with_columns,
)

_SCALARS = {"boolean": BOOLEAN, "string": STRING, "int64": INT64, "double": DOUBLE}


class SeenText:
    """What was seen of one field so far."""

    def __init__(self) -> None:
        self.kind = "nothing"
        self.fields: dict[str, SeenText] = {}
        self.item: SeenText | None = None

    def add(self, text: bytes, depth: int) -> None:
        kind = kind_of(text)
        if says_nothing(text) and self.kind not in {"struct", "list"}:
            return
        if kind == "object":
            members = members_of(text)
            is_deep = depth >= MAX_NESTING
            self._meet("nothing" if says_nothing(text) else "conflict" if is_deep else "struct")
            if self.kind == "struct":
                for name, part in members.items():
                    if may_be_column(name):
                        self.fields.setdefault(name, SeenText()).add(bytes(part), depth + 1)
        elif kind == "array":
            items = items_of(text)
            is_deep = depth >= MAX_NESTING
            self._meet("nothing" if says_nothing(text) else "conflict" if is_deep else "list")
            if self.kind == "list":
                self.item = self.item or SeenText()
                for part in items:
                    self.item.add(bytes(part), depth + 1)
        elif kind == "number":
            self._meet(_number_kind(text))
        elif kind != "null":
            self._meet(kind)

    def _meet(self, kind: str) -> None:
        if kind == "nothing" or self.kind == kind:
            return
        if self.kind == "nothing":
            self.kind = kind
        else:
            self.kind = "double" if {self.kind, kind} == {"int64", "double"} else "conflict"

    def type(self) -> FieldType | None:
        if self.kind in _SCALARS:
            return _SCALARS[self.kind]
        if self.kind == "list" and self.item is not None:
            item = self.item.type()
            return None if item is None else list_of(item)
        fields = with_columns(self.entries(), top=False) if self.kind == "struct" else ()
        return struct_of(fields) if fields else None

    def entries(self) -> list[tuple[str, FieldType, bool]]:
        typed = ((name, seen.type()) for name, seen in self.fields.items())
        return [(name, kind, True) for name, kind in typed if kind is not None]


def _number_kind(text: bytes) -> str:
    if not is_integer(text):
        return "nothing" if abs(float(text)) == float("inf") else "double"
    fits = len(text) <= 20 and INT64_MIN <= int(text) <= INT64_MAX
    return "int64" if fits else "nothing"


def entries_by_text(samples: list[bytes]) -> list[tuple[str, FieldType, bool]]:
    """The fields that samples suggest."""
    root = SeenText()
    root.kind = "struct"
    for payload in samples:
        if fault_of(payload, Limits()) is None:
            root.add(payload.strip(b" \t\r\n"), 0)
    return root.entries()
