"""Every error Penstock raises, in one tree.

    PenstockError
    |-- StoreError
    |   |-- BadKey                 a name that could leave the lake
    |   |-- StoreUnfit             the store does not keep a promise we need
    |   |-- StoreUnavailable       no answer to a read, or a write refused before it began
    |   |-- OutcomeUnknown         a write was asked for and no answer came
    |   |-- DurabilityLost         fsync failed; the process ends
    |   |-- ForeignFile            another file lies under our final name
    |   `-- StagedGone             neither the staged file nor its final one is there
    |-- JournalError
    |   |-- ObjectDamaged
    |   |   |-- EntryDamaged       torn, truncated, edited, not an entry
    |   |   |-- EntryImpossible    an entry that the rules never allow
    |   |   |-- MarkerWrong        a marker that contradicts its entry
    |   |   `-- ManifestDamaged    a manifest object that is not what its entry recorded
    |   |-- EntryMisplaced         a good entry under another number
    |   |-- EntryForeign           an entry of another feed, lake or incarnation
    |   |-- EntryNewer             written by a newer Penstock
    |   |-- EntryMissing           a number was skipped
    |   |-- ChainBroken            an entry does not continue the one before it
    |   |-- JournalCut             something proves that the journal was longer
    |   `-- JournalMissing         data without a journal
    |-- Fenced                     a newer owner has claimed the feed
    |-- EntryRefused               a decision that is no longer valid; nothing was written
    |-- StagedSetWrong             what was staged does not add up; nothing was decided
    `-- FeedHalted
        |-- ClusterChanged         the broker is another cluster
        |-- TopicMissing           a topic is gone
        |-- TopicReplaced          a topic was deleted and made again
        |-- GapFound               records expired before they were read
        |-- LogWentBack            the log ends before our watermark
        `-- DecidedDataLost        decided data is gone and cannot be derived again

An error takes facts, keeps them, and builds its own sentence: what was wanted and found, what
state things are in, what to do. `exit_code` is what the command line returns for it.
"""

from typing import ClassVar

from penstock.model.outcome import Outcome


class PenstockError(Exception):
    """The base of all errors. Subclasses set the code, the exit code and the outcome."""

    code: ClassVar[str] = "PENSTOCK"
    exit_code: ClassVar[int] = 1
    outcome: ClassVar[Outcome] = Outcome.NOT_LANDED

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(f"{self.code}: {found} {advice}")
        self.found = found
        self.advice = advice


class StoreError(PenstockError):
    """Something about the lake's storage."""

    code = "STORE"


class BadKey(StoreError):
    """A name that could leave the lake, or that no store can hold."""

    code = "BAD_KEY"
    exit_code = 2

    def __init__(self, key: str, why: str) -> None:
        super().__init__(
            f"The name {key!r} cannot be used in the lake: {why}.",
            "Nothing was written. Names come from topics, datasets and the configuration; "
            "this one should have been encoded, please report it.",
        )
        self.key = key


class StoreUnfit(StoreError):
    """The start-up probe found a promise that the store does not keep."""

    code = "STORE_UNFIT"
    exit_code = 2

    def __init__(self, store: str, promise: str, seen: str) -> None:
        super().__init__(
            f"The store {store} does not {promise}: {seen}.",
            "No feed was started, because delivery could not be proven on it. "
            "Use a store or a file system that keeps this promise.",
        )


class StoreUnavailable(StoreError):
    """No answer, or a refusal before anything happened: nothing has changed."""

    code = "STORE_UNAVAILABLE"

    def __init__(self, act: str, key: str, why: str) -> None:
        super().__init__(
            f"The store did not {act} {key!r}: {why}.",
            "Nothing has changed. Check that the store can be reached, has space and lets us in; "
            "then run again.",
        )
        self.key = key


class OutcomeUnknown(StoreError):
    """A write was asked for and no answer came. It may have happened, or happen yet."""

    code = "OUTCOME_UNKNOWN"
    exit_code = 3
    outcome = Outcome.UNKNOWN

    def __init__(self, act: str, key: str, why: str) -> None:
        super().__init__(
            f"No answer when asked to {act} {key!r}: {why}.",
            "It may have landed; nothing was cleaned up or tried blindly. "
            "Run again: the next start looks and goes on from what it finds.",
        )
        self.key = key


class DurabilityLost(StoreError):
    """fsync failed, so what was written may be gone. The process ends; it never tries again."""

    code = "DURABILITY_LOST"
    exit_code = 3
    outcome = Outcome.UNKNOWN

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"The disk did not confirm that {path!r} is durable: {why}.",
            "This process ends at once. Check the disk, then run again: what is not proven to be "
            "there is written anew.",
        )


class ForeignFile(StoreError):
    """Another file lies under a name that only we should write. It is never overwritten."""

    code = "FOREIGN_FILE"
    exit_code = 5

    def __init__(self, final: str, wanted: str, seen: str) -> None:
        super().__init__(
            f"{final!r} is not the file this window wrote: wanted {wanted}, found {seen}.",
            "It was left as it is, and so was our staged file. Find out who wrote it, move it "
            "away, and run again (or `penstock run` after `unpark`): ours is published then.",
        )
        self.final = final


class StagedGone(StoreError):
    """Neither the staged file nor its final one is there. Fold again before believing it."""

    code = "STAGED_GONE"

    def __init__(self, staged: str, final: str) -> None:
        super().__init__(
            f"Neither {staged!r} nor {final!r} is there.",
            "Either it was published and has been compacted or retired since, or it was lost; "
            "recovery finds out by reading the journal again, and derives lost files from Kafka.",
        )
        self.final = final


class JournalError(PenstockError):
    """The journal cannot be trusted as it lies there. Nothing is read, written or repaired."""

    code = "JOURNAL"
    exit_code = 5


_LEAVE = "The feed stays stopped and nothing was changed."


class ObjectDamaged(JournalError):
    """One object beside or in the journal cannot be what its writer wrote."""

    says: ClassVar[str] = "The object {key!r} is damaged"
    remedy: ClassVar[str] = "Put the original file back from a backup or a replica of the lake."

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{self.says.format(key=key)}: {why}.", f"{_LEAVE} {self.remedy}")
        self.key = key
        self.why = why


class EntryDamaged(ObjectDamaged):
    """An entry that is torn, truncated, edited, or no entry at all."""

    code = "ENTRY_DAMAGED"
    says = "The journal entry {key!r} is damaged"


class EntryImpossible(ObjectDamaged):
    """A well-formed entry that the rules never allow: a bug or a hand in the journal."""

    code = "ENTRY_IMPOSSIBLE"
    says = "The journal entry {key!r} cannot have been decided here"
    remedy = "Keep a copy of the journal and report it; restore it from a backup to go on."


class MarkerWrong(ObjectDamaged):
    """A done marker or tail mark that contradicts the entry it stands for."""

    code = "MARKER_WRONG"
    says = "The marker {key!r} does not fit its journal entry"
    remedy = "The marker or the entry was replaced: put the originals back from a backup."


class ManifestDamaged(ObjectDamaged):
    """A manifest object that is gone or is not what its entry recorded."""

    code = "MANIFEST_DAMAGED"
    says = "The manifest {key!r} is not what its journal entry recorded"


class EntryMisplaced(JournalError):
    """A good entry that lies under another number than its own."""

    code = "ENTRY_MISPLACED"

    def __init__(self, key: str, wanted: int, found: int) -> None:
        super().__init__(
            f"The journal entry {key!r} says that its number is {found}, not {wanted}.",
            f"{_LEAVE} A file was renamed or copied: put each entry back under its own number.",
        )
        self.key = key


class EntryForeign(JournalError):
    """An entry of another feed, lake, cluster or incarnation."""

    code = "ENTRY_FOREIGN"

    def __init__(self, key: str, what: str, wanted: str, found: str) -> None:
        super().__init__(
            f"The journal entry {key!r} belongs to {what} {found!r}, and this is {wanted!r}.",
            f"{_LEAVE} Two configurations share a feed's name, or a directory was copied: give "
            "the feed a name or a lake of its own.",
        )
        self.key = key


class EntryNewer(JournalError):
    """An entry, or another object of the lake, in a format that this version does not know."""

    code = "ENTRY_NEWER"

    def __init__(self, key: str, found: int, known: int) -> None:
        super().__init__(
            f"The object {key!r} has format {found}; this Penstock knows up to {known}.",
            f"{_LEAVE} A newer Penstock has written here: upgrade this one.",
        )
        self.key = key


class EntryMissing(JournalError):
    """A number without an entry, with entries after it."""

    code = "ENTRY_MISSING"

    def __init__(self, key: str, later: str) -> None:
        super().__init__(
            f"The journal entry {key!r} is missing, and {later!r} is there.",
            f"{_LEAVE} Put the missing file back from a backup or a replica of the lake.",
        )
        self.key = key


class ChainBroken(JournalError):
    """An entry that does not continue the entry before it."""

    code = "CHAIN_BROKEN"

    def __init__(self, key: str, wanted: str, found: str) -> None:
        super().__init__(
            f"The journal entry {key!r} follows an entry with hash {found[:16]}..., but the one "
            f"before it has {wanted[:16]}....",
            f"{_LEAVE} One of the two was replaced: put the originals back from a backup.",
        )
        self.key = key


class JournalCut(JournalError):
    """Something beyond the last entry proves that the journal was longer."""

    code = "JOURNAL_CUT"

    def __init__(self, witness: str, tail: int) -> None:
        super().__init__(
            f"The journal ends at entry {tail}, but {witness!r} proves that it was longer.",
            f"{_LEAVE} Entries were removed, or an older copy was put back while the data is "
            "newer: restore the newest journal; going on would deliver records again.",
        )
        self.witness = witness


class JournalMissing(JournalError):
    """Data, markers or checkpoints without a journal: never taken for a first start."""

    code = "JOURNAL_MISSING"

    def __init__(self, journal: str, witness: str) -> None:
        super().__init__(
            f"There is no journal at {journal!r}, but {witness!r} is there.",
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
            "It decides nothing any more. Nothing to do if the other one is meant to "
            "run; else stop the other one and start this one again.",
        )
        self.feed = feed


class EntryRefused(PenstockError):
    """A decision that is not valid (any more); it was not written."""

    code = "ENTRY_REFUSED"

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(
            f"The {kind} entry was not decided: {why}.",
            "Nothing was changed. Look at the feed again and repeat the command if it is still "
            "wanted.",
        )
        self.kind = kind
        self.why = why


class StagedSetWrong(PenstockError):
    """What the tasks staged does not add up to what they read; nothing was decided."""

    code = "STAGED_SET_WRONG"

    def __init__(self, window: str, why: str) -> None:
        super().__init__(
            f"The staged files of window {window} do not add up: {why}.",
            "Nothing became visible and the watermark stands. The window is staged again; if it "
            "happens twice, keep the log and report it.",
        )
        self.window = window
        self.why = why


class FeedHalted(PenstockError):
    """The promise cannot be kept without a person's word. The watermark stands."""

    code = "FEED_HALTED"
    exit_code = 5


class ClusterChanged(FeedHalted):
    """The brokers that answer are another cluster than the one this feed is bound to."""

    code = "CLUSTER_CHANGED"

    def __init__(self, wanted: str, found: str) -> None:
        super().__init__(
            f"The feed is bound to Kafka cluster {wanted!r}, and {found!r} answers.",
            "Nothing was read. Point `bootstrap.servers` at the right cluster, or give the new "
            "cluster a feed of its own.",
        )


class TopicMissing(FeedHalted):
    """A topic that this feed has read is not there any more."""

    code = "TOPIC_MISSING"

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"Topic {topic!r} is gone.",
            "What was read is safe. Create it again and accept it with `penstock offsets rebind`, "
            "or take it out of the configuration.",
        )
        self.topic = topic


class TopicReplaced(FeedHalted):
    """A topic with the same name and another id: its offsets mean other records."""

    code = "TOPIC_REPLACED"

    def __init__(self, topic: str, wanted: str, found: str) -> None:
        super().__init__(
            f"Topic {topic!r} was deleted and made again: id {found}, and we read {wanted}.",
            "Nothing was read from the new one. If that was on purpose, accept it with "
            "`penstock offsets rebind`.",
        )
        self.topic = topic


class GapFound(FeedHalted):
    """Records expired before they were read."""

    code = "GAP"

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(
            f"Kafka no longer holds {topic}/{partition} [{start}, {end}), which was not read yet.",
            "The watermark stands. Accept the loss with `penstock offsets accept-gap`, or bring "
            "the records back first.",
        )
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end


class LogWentBack(FeedHalted):
    """The log ends before our watermark: it was truncated, or offsets were reused."""

    code = "LOG_TRUNCATED"

    def __init__(self, topic: str, partition: int, watermark: int, end: int) -> None:
        super().__init__(
            f"{topic}/{partition} ends at {end}, and was already read up to {watermark}.",
            "The log was truncated (an unclean election, or a restored broker). The watermark "
            "stands; find out what happened before accepting anything.",
        )
        self.topic = topic
        self.partition = partition


class DecidedDataLost(FeedHalted):
    """Decided files are gone, and deriving them again does not give the same records."""

    code = "DECIDED_DATA_LOST"

    def __init__(self, window: str, why: str) -> None:
        super().__init__(
            f"Files of the decided window {window} are gone and cannot be derived again: {why}.",
            "Nothing is skipped. Bring the staged files back from a backup, or accept the loss of "
            "the range by name.",
        )
        self.window = window
        self.why = why
