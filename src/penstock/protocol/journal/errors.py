"""Errors about the sealed part of a journal."""

from penstock.errors import ObjectDamaged, StoreError


class SegmentDamaged(ObjectDamaged):
    """A sealed segment that is gone, or is not what its seal recorded."""

    code = "SEGMENT_DAMAGED"
    says = "The sealed segment {key!r} of the journal is damaged"
    remedy = (
        "If a seal names it, its entries lie nowhere else: restore it from a backup or a replica "
        "of the lake. If none does, the entries still lie in the journal: remove it."
    )


class LakeInsideLake(StoreError):
    """A new lake would lie inside a directory that is a lake already."""

    code = "LAKE_INSIDE_LAKE"
    exit_code = 2

    def __init__(self, around: str) -> None:
        super().__init__(
            f"The place of the lake is inside another lake: {around}.",
            "Nothing was written. Put the new lake beside the other one, or add its feeds to the "
            "configuration of the other lake.",
        )
        self.around = around
