"""The base of all errors, its branches, and the errors that several rooms raise.

An error that one room raises is defined there, in a module whose name ends in `errors`, below one
of these branches:

    PenstockError
    |-- StoreError        the lake's storage
    |-- JournalError      a journal that does not hold together
    |   `-- ObjectDamaged
    |-- FeedHalted        a feed that needs an operator
    `-- all others, such as Fenced and EntryRefused

The whole tree, of all rooms, is made from the code and stands in docs/errors.md.

An error takes facts, keeps them, and builds its own message: what was wanted, what was found, what
state things are in, and what to do. `exit_code` is what the command line returns for it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from penstock.model.broken_groups import BrokenGroup
from penstock.model.halted import HaltedPlace
from penstock.model.outcome import Outcome
from penstock.model.sentence_end import with_one_stop


class PenstockError(Exception):
    """The base of all errors. Subclasses set the code, the exit code and the outcome."""

    code: ClassVar[str] = "PENSTOCK"
    exit_code: ClassVar[int] = 1
    outcome: ClassVar[Outcome] = Outcome.NOT_LANDED

    def __init__(self, found: str, advice: str) -> None:
        found = with_one_stop(found)
        super().__init__(f"{self.code}: {found} {advice}")
        self.found = found
        self.advice = advice


class StoreError(PenstockError):
    """Something about the lake's storage."""

    code = "STORE"


class BadKey(StoreError):
    """A name that could point outside the lake, or that no store can hold."""

    code = "BAD_KEY"
    exit_code = 2

    def __init__(self, key: str, why: str) -> None:
        super().__init__(
            f"The name {key!r} cannot be used in the lake: {why}.",
            "Nothing was written. Names are made from topics, datasets and the configuration, and "
            "this one should have been encoded. This is a bug: please report it.",
        )
        self.key = key


class StoreUnfit(StoreError):
    """The start-up probe found something that the store cannot do."""

    code = "STORE_UNFIT"
    exit_code = 2

    def __init__(self, store: str, promise: str, seen: str) -> None:
        super().__init__(
            f"The store {store} does not {promise}: {seen}.",
            "No feed was started, because exactly-once delivery is not possible on it. "
            "Use a store or a file system that can do this.",
        )


class StoreUnavailable(StoreError):
    """The store did not answer, or refused before anything happened. Nothing has changed."""

    code = "STORE_UNAVAILABLE"

    def __init__(self, act: str, key: str, why: str) -> None:
        super().__init__(
            f"The store did not {act} {key!r}: {why}.",
            "Nothing has changed. Check that the store can be reached, has space, and gives this "
            "user access; then run again.",
        )
        self.act, self.key, self.why = act, key, why


class OutcomeUnknown(StoreError):
    """A write got no answer. It may have happened, or may still happen."""

    code = "OUTCOME_UNKNOWN"
    exit_code = 3
    outcome = Outcome.UNKNOWN

    def __init__(self, act: str, key: str, why: str) -> None:
        super().__init__(
            f"The store did not answer the request to {act} {key!r}: {why}.",
            "The write may have happened; nothing was cleaned up or repeated. "
            "Run again: the next start checks what happened, and continues from there.",
        )
        self.act, self.key, self.why = act, key, why


class DurabilityLost(StoreError):
    """fsync failed, so written data may be lost. The process ends without a second try."""

    code = "DURABILITY_LOST"
    exit_code = 3
    outcome = Outcome.UNKNOWN

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"The disk did not confirm that {path!r} is durable: {why}.",
            "This process ends at once. Check the disk, then run again: what is not proven to be "
            "there is written again.",
        )


class ForeignFile(StoreError):
    """Another file has a name that only this window may use. It is never overwritten."""

    code = "FOREIGN_FILE"
    exit_code = 5

    def __init__(self, final: str, wanted: str, seen: str) -> None:
        super().__init__(
            f"{final!r} is not the file this window wrote: wanted {wanted}, found {seen}.",
            "It was not changed, and the staged file is kept. Find out where it comes from, and "
            "move it away: a run publishes ours by itself, at once after `penstock unpark`.",
        )
        self.final = final


class StagedGone(StoreError):
    """Neither the staged file nor its final one is there. The caller reads the journal again."""

    code = "STAGED_GONE"

    def __init__(self, staged: str, final: str) -> None:
        super().__init__(
            f"Neither the staged file {staged!r} nor the final file {final!r} is there.",
            "Either it was published and then compacted or retired, or it was lost. "
            "Recovery reads the journal again to find out, and derives lost files from Kafka.",
        )
        self.final = final


class JournalError(PenstockError):
    """The journal is damaged or incomplete. Nothing is read, written or repaired."""

    code = "JOURNAL"
    exit_code = 5


_LEAVE = "The feed stays stopped and nothing was changed."


class ObjectDamaged(JournalError):
    """An object of the journal is not what was written."""

    says: ClassVar[str] = "The object {key!r} is damaged"
    remedy: ClassVar[str] = "Restore the original file from a backup or a replica of the lake."

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{self.says.format(key=key)}: {why}.", f"{_LEAVE} {self.remedy}")
        self.key = key
        self.why = why


class EntryDamaged(ObjectDamaged):
    """An entry that is torn, truncated, edited, or not an entry."""

    code = "ENTRY_DAMAGED"
    says = "The journal entry {key!r} is damaged"


class EntryImpossible(ObjectDamaged):
    """A well-formed entry that the rules never allow: a bug, or the journal was edited."""

    code = "ENTRY_IMPOSSIBLE"
    says = "The journal entry {key!r} cannot have been decided here"
    remedy = "Keep a copy of the journal and report this; to continue, restore it from a backup."


class MarkerWrong(ObjectDamaged):
    """A done marker or tail mark that contradicts the entry it stands for."""

    code = "MARKER_WRONG"
    says = "The marker {key!r} does not fit its journal entry"
    remedy = "The marker or the entry was replaced: restore both from a backup."


class ManifestDamaged(ObjectDamaged):
    """A manifest object that is gone or is not what its entry recorded."""

    code = "MANIFEST_DAMAGED"
    says = "The manifest {key!r} is not what its journal entry recorded"


class EntryMisplaced(JournalError):
    """A valid entry that is stored under another number than its own."""

    code = "ENTRY_MISPLACED"

    def __init__(self, key: str, wanted: int, found: int) -> None:
        super().__init__(
            f"The journal entry {key!r} says that its number is {found}, not {wanted}.",
            f"{_LEAVE} A file was renamed or copied: move each entry back to its own number.",
        )
        self.key = key


class EntryForeign(JournalError):
    """An entry of another feed, lake, cluster or incarnation."""

    code = "ENTRY_FOREIGN"

    def __init__(self, key: str, what: str, wanted: str, found: str) -> None:
        super().__init__(
            f"The journal entry {key!r} belongs to {what} {found!r}, but this is {wanted!r}.",
            f"{_LEAVE} Two configurations use the same feed name, or a directory was copied: "
            "give the feed its own name or its own lake.",
        )
        self.key = key


class EntryNewer(JournalError):
    """An entry, or another object of the lake, in a format that this version does not know."""

    code = "ENTRY_NEWER"

    def __init__(self, key: str, found: int, known: int) -> None:
        super().__init__(
            f"The object {key!r} has format {found}; this version knows up to {known}.",
            f"{_LEAVE} A newer version wrote it: upgrade this installation.",
        )
        self.key = key


class EntryMissing(JournalError):
    """A number without an entry, with entries after it."""

    code = "ENTRY_MISSING"

    def __init__(self, key: str, later: str) -> None:
        super().__init__(
            f"The journal entry {key!r} is missing, but {later!r} exists.",
            f"{_LEAVE} Restore the missing file from a backup or a replica of the lake.",
        )
        self.key = key


class ChainBroken(JournalError):
    """An entry that does not continue the entry before it."""

    code = "CHAIN_BROKEN"

    def __init__(self, key: str, wanted: str, found: str) -> None:
        super().__init__(
            f"The journal entry {key!r} names {found[:16]}... as the hash of the entry before it, "
            f"which is {wanted[:16]}....",
            f"{_LEAVE} One of the two was replaced: restore both from a backup.",
        )
        self.key = key


class JournalCut(JournalError):
    """Another object proves that the journal was longer."""

    code = "JOURNAL_CUT"

    def __init__(self, witness: str, tail: int) -> None:
        super().__init__(
            f"The journal ends at entry {tail}, but {witness!r} proves that it was longer.",
            f"{_LEAVE} Entries were removed, or an older copy was restored while the data is "
            "newer. Restore the newest journal: continuing would deliver records twice.",
        )
        self.witness = witness


class JournalMissing(JournalError):
    """Data, markers or checkpoints without a journal. This is never treated as a first start."""

    code = "JOURNAL_MISSING"

    def __init__(self, journal: str, witness: str) -> None:
        super().__init__(
            f"There is no journal at {journal!r}, but {witness!r} exists.",
            f"{_LEAVE} Restore the journal from a backup, or give the feed a new name.",
        )
        self.witness = witness


class Fenced(PenstockError):
    """A newer owner has claimed the feed; this one stops and touches nothing."""

    code = "FENCED"
    exit_code = 75

    def __init__(self, feed: str, mine: int, newest: int, owner: str) -> None:
        super().__init__(
            f"Feed {feed!r} was claimed with epoch {newest} by {owner}; this owner had {mine}.",
            "This owner has stopped. If the other one should run, do nothing; otherwise stop the "
            "other one: a run that waits follows by itself, after --once start this one again.",
        )
        self.feed = feed


class EntryRefused(PenstockError):
    """A decision that is not valid, or no longer valid. It was not written."""

    code = "ENTRY_REFUSED"

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(
            f"The {kind} entry was not decided: {why}.",
            "Nothing was changed. Check the state of the feed, and repeat the command if it is "
            "still wanted.",
        )
        self.kind = kind
        self.why = why


class StagedSetWrong(PenstockError):
    """What the tasks staged does not add up to what they read; nothing was decided."""

    code = "STAGED_SET_WRONG"

    def __init__(self, window: str, why: str) -> None:
        super().__init__(
            f"The staged files of window {window} do not add up: {why}.",
            "Nothing became visible and the watermark did not move. A run stages the window again, "
            "a few times; if this happens twice, keep the log and report it.",
        )
        self.window = window
        self.why = why


class FeedHalted(PenstockError):
    """The feed cannot continue without an operator's decision. The watermark does not move.

    `places` say where in Kafka the cause lies; `broken` are the records of a window that was
    refused because of them, by group, and `reasons` how many there are for which reason.
    """

    code = "FEED_HALTED"
    exit_code = 5
    places: tuple[HaltedPlace, ...] = ()
    broken: tuple[BrokenGroup, ...] = ()
    reasons: Mapping[str, int] = MappingProxyType({})


class ClusterChanged(FeedHalted):
    """The brokers belong to another cluster than the one this feed is bound to."""

    code = "CLUSTER_CHANGED"

    def __init__(self, wanted: str, found: str) -> None:
        super().__init__(
            f"The feed is bound to Kafka cluster {wanted!r}, but cluster {found!r} answers.",
            "Nothing was read. Set `bootstrap.servers` to the right cluster, or configure a new "
            "feed for the new cluster.",
        )


class TopicMissing(FeedHalted):
    """A topic that this feed has read no longer exists, or topics that it names never did."""

    code = "TOPIC_MISSING"

    def __init__(self, *topics: str, never_read: bool = False) -> None:
        names = ", ".join(map(repr, topics))
        what = f"Topic {names} does not" if len(topics) == 1 else f"Topics {names} do not"
        found = f"{what} exist in Kafka, or this user has no access."
        advice = "What was delivered is safe. Correct `topics` in the configuration, or create it."
        if not never_read:
            found = f"{what} exist any more, and this feed has read from there."
            advice += " A topic made again has another id; `penstock offsets rebind` accepts it."
        super().__init__(found, advice)
        self.topics = topics
        self.places = tuple(map(HaltedPlace, topics))


class TopicReplaced(FeedHalted):
    """A topic with the same name and another id: its offsets mean other records."""

    code = "TOPIC_REPLACED"

    def __init__(self, topic: str, wanted: str, found: str) -> None:
        super().__init__(
            f"Topic {topic!r} was deleted and created again: its id is {found}, it was {wanted}.",
            "Nothing was read from the new topic. If this was on purpose, accept it with "
            "`penstock offsets rebind`.",
        )
        self.topic = topic
        self.places = (HaltedPlace(topic),)


class GapFound(FeedHalted):
    """Records expired before they were read."""

    code = "GAP"

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(
            f"Kafka no longer has {topic}/{partition} [{start}, {end}), which was not read yet.",
            "Nothing was skipped and the watermark did not move. Accept the loss with "
            "`penstock offsets accept-gap`, or restore the records in Kafka first.",
        )
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end
        self.places = (HaltedPlace(topic, partition, start, end),)


class LogWentBack(FeedHalted):
    """The log ends before the watermark: it was truncated."""

    code = "LOG_TRUNCATED"

    def __init__(self, topic: str, partition: int, watermark: int, end: int) -> None:
        super().__init__(
            f"{topic}/{partition} ends at {end}, but it was already read up to {watermark}.",
            "The log was truncated (an unclean election, or a restored broker). The watermark did "
            "not move. Find out from the brokers what happened before you do anything.",
        )
        self.topic = topic
        self.partition = partition
        self.places = (HaltedPlace(topic, partition, end, watermark),)


class DecidedDataLost(FeedHalted):
    """Decided files are gone, and deriving them again does not give the same records."""

    code = "DECIDED_DATA_LOST"

    def __init__(self, window: str, why: str) -> None:
        super().__init__(
            f"Files of the decided window {window} are gone and cannot be derived again: {why}.",
            "Nothing was skipped; the window stays unfinished. Restore the staged files from a "
            "backup, under the names in the journal entry, and run again.",
        )
        self.window = window
        self.why = why
