"""How much a compaction would rewrite: the debt of a feed."""

from collections.abc import Iterable

from penstock.model.value import Value


class Debt(Value, frozen=True):
    """Small files that a compaction of now would rewrite, and their bytes."""

    files: int = 0
    size_bytes: int = 0

    @classmethod
    def total(cls, parts: Iterable["Debt"]) -> "Debt":
        """All of them together."""
        found = list(parts)
        return cls(sum(each.files for each in found), sum(each.size_bytes for each in found))
