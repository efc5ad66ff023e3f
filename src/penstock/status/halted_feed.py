"""Why a feed is halted, as commands show it: from the objects that it left in the lake."""

from penstock.model.exit_codes import HALTED, REFUSED, REFUSED_CODES
from penstock.model.halted import Halted, HaltedGroup
from penstock.model.plural import number_of
from penstock.model.value import Value
from penstock.protocol.feed_book.acceptance import acceptance_of
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.halted_objects import shown_halted
from penstock.protocol.feed_book.state import FeedState

FEW_GROUPS = 5


class ShownGroup(Value, frozen=True):
    """Records that are broken in the same way; positions are `topic/partition/offset`."""

    fingerprint: str
    reason: str
    count: int
    datasets: tuple[str, ...]
    first: str
    last: str
    samples: tuple[str, ...]

    @classmethod
    def of(cls, group: HaltedGroup) -> "ShownGroup":
        """A group as it is printed."""
        return cls(
            group.fingerprint,
            group.reason,
            group.count,
            group.datasets,
            str(group.first),
            str(group.last),
            tuple(map(str, group.samples)),
        )


class ShownHalt(Value, frozen=True, kw_only=True):
    """A halt: its code and sentence, since when, and what to do. It has no values of records.

    `accepted_by` is who has accepted the window that was refused: a run goes on with it.
    """

    code: str
    sentence: str
    what_to_do: str
    since: str | None
    at: str | None
    window: str | None
    places: tuple[str, ...]
    reasons: dict[str, int]
    groups: tuple[ShownGroup, ...]
    accepted_by: str | None

    @classmethod
    def of(cls, halted: Halted, accepted_by: str | None) -> "ShownHalt":
        """A halt as it is shown."""
        return cls(
            code=halted.code,
            sentence=halted.sentence,
            what_to_do=halted.advice,
            since=halted.since or None,
            at=halted.at or None,
            window=halted.window or None,
            places=tuple(map(str, halted.places)),
            reasons=halted.reasons,
            groups=tuple(map(ShownGroup.of, halted.groups)),
            accepted_by=accepted_by,
        )

    @property
    def exit_code(self) -> int:
        """With which the run of the feed has ended: what only another configuration mends is 2."""
        return REFUSED if self.code in REFUSED_CODES else HALTED

    @property
    def state(self) -> str:
        """The word for the feed: it waits for an operator, or for another configuration."""
        return "refused" if self.exit_code == REFUSED else "halted"


def halt_of(journal: FeedJournal, state: FeedState) -> ShownHalt | None:
    """Why the feed is halted now; None when it is not. Reads an object or two."""
    halted = shown_halted(journal, state)
    if halted is None:
        return None
    accepted = acceptance_of(journal, state) if halted.window else None
    return ShownHalt.of(halted, None if accepted is None else accepted.author)


def lines_of(halt: ShownHalt) -> list[str]:
    """A halt as sentences, the most important first."""
    since = f" since {halt.since}" if halt.since else ""
    lines = [f"{halt.state}{since}: {halt.code}: {halt.sentence}"]
    for group in halt.groups[:FEW_GROUPS]:
        lines.append(f"{group.count:,} {group.reason}, {group.first} to {group.last}")
    more = len(halt.groups) - FEW_GROUPS
    if more > 0:
        lines.append(f"and {number_of(more, 'more group')} of broken records")
    if halt.accepted_by is not None:
        who = halt.accepted_by
        lines.append(f"accepted by {who}: a live run goes on within 10 seconds, or the next one")
    else:
        lines.append(f"what to do: {halt.what_to_do}")
    return lines
