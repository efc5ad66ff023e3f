"""Errors about sealed parts of a journal, and about where journals and lakes lie."""

from penstock.errors import JournalError, ObjectDamaged, StoreError


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


class WrongJournal(JournalError):
    """What the configuration names is not the journal of this lake. That is no damage of either."""


class JournalElsewhere(WrongJournal):
    """The feed's journal lies in another place than the configuration says; empty: in the lake."""

    code = "JOURNAL_ELSEWHERE"

    def __init__(self, feed: str, named: str, configured: str) -> None:
        where = f"at {named!r}" if named else "in the lake itself"
        write = f"write `journal: {named}` in" if named else "remove `journal` from"
        super().__init__(
            f"The journal of feed {feed!r} lies {where}, but the configuration says "
            f"{repr(configured) if configured else 'that it lies in the lake'}.",
            f"Nothing was changed. To go on, {write} the configuration; to move the journal, see "
            "docs/stores.md.",
        )
        self.feed = feed
        self.named = named
        self.configured = configured


class JournalUnnamed(WrongJournal):
    """A journal that is in use, and a lake that does not name it."""

    code = "JOURNAL_UNNAMED"

    def __init__(self, feed: str, place: str, key: str) -> None:
        super().__init__(
            f"The journal of feed {feed!r} at {place!r} has been in use, but the lake has no "
            f"{key!r} that names it.",
            "Nothing was changed. The lake was restored from an older copy, or it is not mounted, "
            "or the object was removed: restore it.",
        )
        self.feed = feed
        self.key = key


class JournalForeign(WrongJournal):
    """The journal at the configured place is not the one that belongs to this lake."""

    code = "JOURNAL_FOREIGN"

    def __init__(self, place: str, what: str, wanted: str, found: str) -> None:
        super().__init__(
            f"The journal at {place!r} is not that of this lake: its {what} is {found[:16]!r}, and "
            f"the lake says {wanted[:16]!r}.",
            "Nothing was changed. Correct `journal` or `lake` in the configuration: each lake has "
            "a place of its own for its journals.",
        )
        self.place = place


class LakeMissing(WrongJournal):
    """A journal with feeds, and nothing where its lake should be. Never taken as a new lake."""

    code = "LAKE_MISSING"

    def __init__(self, place: str, feed_key: str) -> None:
        super().__init__(
            f"The journal at {place!r} has {feed_key!r}, but there is no lake at the configured "
            "address.",
            "Nothing was changed. Check that the lake is mounted and that `lake` is right; if it "
            "was lost, restore it from a backup.",
        )
        self.place = place


class LakeIdMissing(JournalError):
    """A lake with journals, and without the object that has its id. Never taken as a new lake."""

    code = "LAKE_ID_MISSING"

    def __init__(self, key: str, number: int, entry: str) -> None:
        content = f'{{"format":{number},"id":"ID"}}'
        super().__init__(
            f"The lake has the journal entry {entry!r}, but the object {key!r}, which has the id "
            "of the lake, is gone.",
            "Nothing was changed. Restore that object from a backup, or write it again: it is "
            f"{content}, where ID is the value of `lake` in that entry.",
        )
        self.key = key
        self.entry = entry


class PlaceDamaged(ObjectDamaged):
    """What says where a feed's journal lies cannot be read, or belongs to another feed."""

    code = "PLACE_DAMAGED"
    says = "The object {key!r}, which says where the journal lies, is damaged"
