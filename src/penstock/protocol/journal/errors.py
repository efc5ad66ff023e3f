"""Errors about the sealed part of a journal."""

from penstock.errors import ObjectDamaged


class SegmentDamaged(ObjectDamaged):
    """A sealed segment that is gone, or is not what its seal recorded."""

    code = "SEGMENT_DAMAGED"
    says = "The sealed segment {key!r} of the journal is damaged"
    remedy = (
        "If a seal names it, its entries lie nowhere else: restore it from a backup or a replica "
        "of the lake. If none does, the entries still lie in the journal: remove it."
    )
