"""Errors of running feeds."""

from collections.abc import Mapping, Sequence

from penstock.errors import FeedHalted, PenstockError
from penstock.model.halted import HaltedPlace
from penstock.model.plural import are, number_of
from penstock.model.ranges import OffsetRange
from penstock.protocol.loop.prove import Findings

_MOST_SHOWN = 20


class WindowRefused(FeedHalted):
    """A window was staged and proven, and too much of it is broken for it to be decided."""

    def __init__(self, found: str, advice: str, findings: Findings) -> None:
        super().__init__(
            found, f"Nothing of the window is visible and the watermark did not move. {advice}"
        )
        self.broken, self.reasons = findings.broken, dict(findings.reasons)
        self.quarantined = findings.counts.quarantined
        self.read = findings.counts.read
        self.rows = findings.counts.rows


class QuarantineTooFull(WindowRefused):
    """Too many records of a window are broken. The usual cause is a wrong configuration."""

    code = "QUARANTINE_RATIO"

    def __init__(
        self, feed: str, of: str, findings: Findings, max_ratio: float, why: str = ""
    ) -> None:
        super().__init__(
            f"{_how_many(of, findings)}, more than max_ratio {max_ratio:g} allows.{why}",
            f"`penstock errors list {feed} --halted` shows them. Find out what changed in the "
            "topic; correct the configuration and run again, or accept this one window with "
            f"`penstock errors accept {feed} --reason TEXT`.",
            findings,
        )


class TooManyTypes(WindowRefused):
    """A window has more new datasets than one window may create, and many records of them."""

    code = "TOO_MANY_TYPES"

    def __init__(self, feed: str, of: str, findings: Findings, max_new_types: int) -> None:
        super().__init__(
            f"{findings.new_types:,} new types are in {of}, and max_new_types allows "
            f"{max_new_types:,}: {_how_many('it', findings)}.",
            f"{max_new_types:,} of them are learned now. If there really are so many, run again: "
            "every run learns as many more; or raise `max_new_types`. If the route is an id by "
            "mistake, change `route` to a field that names the kind of a record. `penstock errors "
            f"list {feed} --halted` shows some of the records.",
            findings,
        )
        self.new_types, self.max_new_types = findings.new_types, max_new_types


def _how_many(of: str, findings: Findings) -> str:
    """How many records of a window are broken, the most frequent reasons, and one position."""
    most = sorted(findings.reasons.items(), key=lambda each: (-each[1], each[0]))[:3]
    why = [", ".join(f"{reason} {count}" for reason, count in most)] if most else []
    why += [f"for example {each.reason} at {each.first}" for each in findings.broken[:1]]
    counts = findings.counts
    whats = number_of(counts.rows, "row" if counts.extra else "record")
    told = f" ({'; '.join(why)})" if why else ""
    verb = are(counts.quarantined)
    return f"{counts.quarantined:,} of {whats} of {of} {verb} broken{told}"


class SchemasIncompatible(FeedHalted):
    """The schema of some records cannot be merged with their dataset's, so the dataset stopped."""

    code = "SCHEMAS_INCOMPATIBLE"

    def __init__(self, feed: str, stopped: Mapping[str, str]) -> None:
        which = "; ".join(f"{dataset}: {why}" for dataset, why in sorted(stopped.items()))
        super().__init__(
            f"Feed {feed!r} has stopped datasets. {which}.",
            "No further files of them become visible; later records are decided and safe, and all "
            "other datasets are delivered. Make the producer write the old schema again, or route "
            "such records to another dataset. Then run "
            f"`penstock errors accept {feed} --dataset NAME --reason TEXT`, and run again.",
        )
        self.stopped = dict(stopped)


class LogRewritten(FeedHalted):
    """Kafka has another record at a delivered offset: its log was truncated and refilled."""

    code = "LOG_REWRITTEN"

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        super().__init__(
            f"{topic}/{partition} has another record at offset {offset} than the one that was "
            "delivered: the log was truncated and filled again, as after an unclean election.",
            "Nothing was read and the watermark did not move. Find out from the brokers which "
            "offsets were lost; new records below the watermark were never read.",
        )
        self.topic, self.partition, self.offset = topic, partition, offset
        self.places = (HaltedPlace(topic, partition, offset, offset + 1),)


class StartNotResolved(PenstockError):
    """A feed shall begin at a time or at a group, and its source cannot tell which offset it is."""

    code = "START_NOT_RESOLVED"
    exit_code = 2

    def __init__(self, what: str, topic: str, partition: int) -> None:
        super().__init__(
            f"`start` names {what}, and the source of {topic}/{partition} cannot tell which offset "
            "that is.",
            "Nothing was read. Let `start` be earliest, latest, or offsets, and run again.",
        )
        self.topic, self.partition = topic, partition


class StartIncomplete(PenstockError):
    """A consumer group or a file has no offset for some partitions, or none; nothing was read."""

    code = "START_INCOMPLETE"
    exit_code = 2

    def __init__(
        self, feed: str, origin: str, absent: Sequence[tuple[str, int]], *, has_none: bool = False
    ) -> None:
        named = ", ".join(f"{topic}/{partition}" for topic, partition in absent[:_MOST_SHOWN])
        more = f" and {len(absent) - _MOST_SHOWN} more" if len(absent) > _MOST_SHOWN else ""
        found = f"{named}{more}"
        cure = (
            "Check the name and the topics. If these partitions shall be read from their "
            "beginning, set `missing: earliest` below `start`."
        )
        if has_none:
            found = f"any partition of this feed ({named}{more})"
            cure = (
                "Check the name and the topics; a misspelt name has no offsets. If all shall be "
                "read from the beginning, set `start` to earliest."
            )
        super().__init__(
            f"{origin}, at which feed {feed!r} shall start, has no offset for {found}.",
            f"Nothing was read and nothing was written. {cure}",
        )
        self.absent = tuple(absent)


class StartBeyondLog(PenstockError):
    """An offset to start at lies behind the end of its log; nothing was read."""

    code = "START_BEYOND_LOG"
    exit_code = 2

    def __init__(self, origin: str, topic: str, partition: int, wanted: int, latest: int) -> None:
        super().__init__(
            f"{origin} says that {topic}/{partition} is read from {wanted} on, and the log ends at "
            f"{latest}.",
            "Nothing was read and nothing was written. The offset belongs to another log, such as "
            "that of a topic that was deleted and created again. Set `start` to offsets that you "
            "have checked, or to earliest.",
        )
        self.topic, self.partition, self.wanted = topic, partition, wanted


class LeaseHeld(PenstockError):
    """Another live instance owns the feed, and --no-wait was given."""

    code = "LEASE_HELD"
    exit_code = 75

    def __init__(self, feed: str, owner: str, at: str) -> None:
        super().__init__(
            f"Feed {feed!r} is owned by {owner}, which was alive at {at}.",
            "Nothing was changed. Run without --no-wait to wait for it, or with --take-over to "
            "take the feed; the other instance then waits, and nothing is lost or doubled.",
        )
        self.owner = owner


class LeaseLost(PenstockError):
    """Another instance has taken the lease; this one was paused or cut off from the store."""

    code = "LEASE_LOST"
    exit_code = 75

    def __init__(self, feed: str) -> None:
        super().__init__(
            f"The lease of feed {feed!r} was taken by another instance, to which this one seemed "
            "dead.",
            "Nothing was decided since, and nothing is lost or doubled. A run waits for the other "
            "instance; with --once or --no-wait it has ended. `penstock status` shows who owns the "
            "feed.",
        )
        self.feed = feed


class DatasetsParked(FeedHalted):
    """Everything is decided, but the files of some datasets could not be published."""

    code = "DATASET_PARKED"

    def __init__(self, feed: str, parked: Mapping[str, str]) -> None:
        which = "; ".join(f"{dataset}: {why}" for dataset, why in sorted(parked.items()))
        super().__init__(
            f"Feed {feed!r} has parked datasets. {which}",
            "Their records are decided and safe, but not visible yet; all other datasets are "
            "delivered. Remove the cause and run again: parked datasets are tried first.",
        )
        self.parked = dict(parked)


class PartitionsUnread(PenstockError):
    """Some partitions could not be read; everything else is delivered."""

    code = "PARTITIONS_UNREAD"

    def __init__(self, feed: str, unread: Mapping[tuple[str, int], str]) -> None:
        places = ", ".join(f"{topic}/{partition}" for topic, partition in sorted(unread))
        super().__init__(
            f"Feed {feed!r} could not read {places}: {next(iter(unread.values()))}.",
            "Their watermarks did not move, and everything else is delivered. Remove the cause, "
            "then run again.",
        )
        self.unread = dict(unread)


class KeptValueWrong(PenstockError):
    """A source wants to keep something with a window that an entry cannot hold."""

    code = "KEPT_VALUE_WRONG"

    def __init__(self, source: str, found: str, most: int) -> None:
        super().__init__(
            f"The source {source!r} wants to keep {found} with a window; a text of at most "
            f"{most:,} characters was wanted.",
            "The window was not decided, and nothing of it is visible. Repair or upgrade the "
            "package that offers the source, then run again.",
        )


class WindowTimedOut(PenstockError):
    """Reading a window took longer than `timeout`, and its job was cancelled."""

    code = "WINDOW_TIMED_OUT"

    def __init__(self, feed: str, window: str, records: int, took_s: float) -> None:
        super().__init__(
            f"Reading window {window} of feed {feed!r} ({number_of(records, 'record')}) took "
            f"longer than `timeout` allows, and was cancelled after {took_s:.0f} s.",
            "Nothing of it is visible and the watermark did not move. The next try takes half as "
            "many records.",
        )
        self.window, self.records = window, records


class WindowTooMuch(WindowTimedOut):
    """The source can hand out the records of a window, but only a few at a time."""

    code = "WINDOW_TOO_MUCH"

    def __init__(self, feed: str, window: str, records: int, why: str) -> None:
        PenstockError.__init__(
            self,
            f"Window {window} of feed {feed!r} ({number_of(records, 'record')}) cannot be read at "
            f"once: {why}.",
            "Nothing of it is visible and the watermark did not move. The next try takes half as "
            "many records.",
        )
        self.window, self.records = window, records


class WindowsTimedOut(FeedHalted):
    """Even the smallest window took longer than `timeout`, several times in a row."""

    code = "WINDOWS_TIMED_OUT"

    def __init__(
        self, feed: str, tries: int, timeout_s: float, ranges: Sequence[OffsetRange]
    ) -> None:
        records = sum(map(len, ranges))
        super().__init__(
            f"The next window of feed {feed!r} was tried {tries} times at its smallest size "
            f"({number_of(records, 'record')}), and reading it took longer than `timeout` "
            f"({timeout_s:g} s) each time.",
            "Nothing of it is visible and the watermark did not move. Find out why the job does "
            "not end: Spark has no free cores, the brokers are slow, or a plug-in hangs. Raise "
            "`timeout` if the work takes so long, then run again.",
        )
        self.places = tuple(
            HaltedPlace(each.topic, each.partition, each.start, each.end)
            for each in ranges[:_MOST_SHOWN]
        )


class FeedFailed(PenstockError):
    """Something happened to a feed that Penstock has no name for. Other feeds went on."""

    code = "FEED_FAILED"

    def __init__(self, feed: str, why: str, where: str) -> None:
        super().__init__(
            f"Feed {feed!r} ended by an unexpected error: {why} ({where}).",
            "What was decided is safe, and nothing is lost or doubled; other feeds went on. This "
            "is a mistake in Penstock or in a plug-in: report it with this message. Run again to "
            "try the feed once more.",
        )
        self.feed, self.where = feed, where


class FeedStuck(PenstockError):
    """The thread of a feed waits for an answer that does not come. Other feeds went on."""

    code = "FEED_STUCK"

    def __init__(self, feed: str, doing: str) -> None:
        super().__init__(
            f"Feed {feed!r} does not move any more. It was at: {doing}. Its thread is given up.",
            "What was decided is safe, and nothing is lost or doubled; other feeds go on. A store, "
            "a broker or a plug-in does not answer. Once it does, this feed goes on by itself; "
            "otherwise start this instance again. Another instance may take the feed over.",
        )
        self.feed = feed
