"""What is told about one feed while it runs: each thing once, and again when it has changed."""

from penstock.errors import FeedHalted, PenstockError
from penstock.feeds.run_events import Event, Fact, Tell
from penstock.feeds.running_feed import RunningFeed
from penstock.feeds.setting_changes import change_events
from penstock.feeds.sharing import WantedFeed
from penstock.model.lanes import dataset_of
from penstock.model.plural import number_of
from penstock.model.spec import RunLimits
from penstock.protocol.feed_book.feed_lease import FeedBeat


class FeedReports:
    """Tells what happens to one feed, as events. Used by the thread of the feed."""

    def __init__(self, feed: str, tell: Tell) -> None:
        self._feed = feed
        self._tell = tell
        self._told_parked: dict[str, str] = {}
        self._told_failing: dict[str, int] = {}
        self._told_export = ""
        self._told_late: dict[str, int] = {}
        self.is_told_to_wait = False

    def say(
        self, name: str, sentence: str, facts: dict[str, Fact] | None = None, level: str = "info"
    ) -> None:
        """Tell one thing."""
        self._tell(Event(self._feed, name, sentence, facts or {}, level))

    def warn(self, name: str, sentence: str, facts: dict[str, Fact] | None = None) -> None:
        """Tell one thing that somebody should look at."""
        self.say(name, sentence, facts, "warning")

    def failed(self, error: PenstockError) -> None:
        """Why the feed ends."""
        kind = "halted" if isinstance(error, FeedHalted) else "stopped"
        facts: dict[str, Fact] = {"code": error.code, "exit_code": error.exit_code}
        self.say(kind, f"{kind}: {error}", facts, level="error")

    def resumed(self, error: PenstockError) -> None:
        """The feed was halted, and an operator has decided something: it is claimed again."""
        sentence = f"resumed: it was halted with {error.code}, and something was decided since"
        self.say("resumed", sentence, {"code": error.code})

    def claimed(self, feed: RunningFeed) -> None:
        """The feed is ours; and what its configuration says other than in its last window."""
        so_far = number_of(feed.state.windows, "window")
        sentence = f"claimed epoch {feed.owner.epoch}, {so_far} so far"
        self.say("claimed", sentence, {"epoch": feed.owner.epoch})
        for event in change_events(feed.feed, feed.state):
            self._tell(event)
        self._told_late = {name: late.rows for name, late in feed.state.late.items()}
        self.is_told_to_wait = False

    def waiting(self, holder: FeedBeat) -> None:
        """Once: another instance has the feed."""
        if not self.is_told_to_wait:
            self.is_told_to_wait = True
            sentence = f"waiting: owned by {holder.owner}, alive at {holder.at}"
            self.say("waiting", sentence, {"owner": holder.owner})

    def left_to_others(self, limits: RunLimits) -> None:
        """Once: this instance has as many feeds as it may have."""
        if not self.is_told_to_wait:
            self.is_told_to_wait = True
            most = number_of(limits.feeds_at_most or 0, "feed")
            sentence = f"not claimed: this instance has {most}, and `feeds_at_most` allows no more"
            self.say("left_to_others", sentence, {"feeds_at_most": limits.feeds_at_most})

    def handed_over(self, wanted: WantedFeed) -> None:
        """Another instance, which has fewer feeds, has asked for this one."""
        self.is_told_to_wait = False
        sentence = f"handed over to {wanted.owner}, which has fewer feeds"
        self.say("handed_over", sentence, {"owner": wanted.owner})

    def back_in_line(self, error: PenstockError) -> None:
        """Another instance has taken the feed."""
        self.is_told_to_wait = False
        self.warn("back_in_line", f"back in line: {error}", {"code": error.code})

    def trouble(self, error: PenstockError, tries: int, pause_s: float) -> None:
        """Something went wrong that may pass."""
        facts: dict[str, Fact] = {"code": error.code, "tries": tries, "pause_s": pause_s}
        self.warn("trouble", f"trying again in {pause_s:.0f} s: {error}", facts)

    def export_failed(self, error: PenstockError) -> None:
        """Once, and again when the cause is another one: lag tools do not see how far we are."""
        if self._told_export != error.found:
            self._told_export = error.found
            sentence = (
                "the offsets could not be exported for lag tools; records are delivered without "
                f"it: {error.code}: {error.found} Give access, or set `export_offsets: none`; this "
                "line does not come again for the same cause"
            )
            self.warn("export_failed", sentence, {"code": error.code})

    def exported(self) -> None:
        """Lag tools see how far we are; a later failure is told again."""
        self._told_export = ""

    def timed_out(self, error: PenstockError, most: int | None) -> None:
        """A window took too long, and the next one is smaller."""
        facts: dict[str, Fact] = {"code": error.code, "most_records": most}
        self.warn("timed_out", f"trying again with at most {most:,} records: {error}", facts)

    def after_turn(self, feed: RunningFeed, tick: float, *, once: bool) -> None:
        """What a turn has brought to light, whether or not it had a window."""
        self._failing(feed, tick)
        self._parked(feed)
        self._late(feed)
        self._topics(feed, once=once)
        for notice in feed.notices():
            self.warn("notice", notice)

    def delivered(self, feed: RunningFeed, took_s: float) -> None:
        """A window is delivered."""
        state = feed.state
        counts, lag = state.last_counts, feed.lag_records()
        rate = counts.read / took_s if took_s > 0 else 0.0
        left_s = lag / rate if rate else 0.0
        broken = f"{counts.quarantined:,} quarantined, " if counts.quarantined else ""
        sentence = (
            f"window {state.last_window}: {number_of(counts.read, 'record')} in {took_s:.1f} s "
            f"({rate:,.0f}/s), {broken}{lag:,} to go" + (f", {left_s:.0f} s left" if lag else "")
        )
        facts: dict[str, Fact] = {
            "window": state.last_window,
            "records": counts.read,
            "bytes": counts.read_bytes,
            "written": counts.written,
            "quarantined": counts.quarantined,
            "filtered": counts.filtered,
            "seconds": round(took_s, 3),
            "lag_records": lag,
            "left_s": round(left_s, 1),
        }
        self.say("window", sentence, facts)
        for event in feed.conflicts():
            self._tell(event)

    def done(self, feed: RunningFeed) -> None:
        """Everything that was there at the start is delivered."""
        counts, windows = feed.state.counts, feed.state.windows
        sentence = (
            f"done: all that was there is delivered; in {number_of(windows, 'window')} so far "
            f"{counts.written:,} written, {counts.quarantined:,} quarantined, "
            f"{counts.filtered:,} filtered"
        )
        self.say("done", sentence, {"windows": windows, "read": counts.read})

    def _late(self, feed: RunningFeed) -> None:
        """Rows that came after their day or hour was declared complete, by dataset."""
        for name, late in feed.state.late.items():
            rows, self._told_late[name] = late.rows - self._told_late.get(name, 0), late.rows
            if rows > 0:
                sentence = (
                    f"{number_of(rows, 'row')} of {name} came after their day was complete, "
                    f"with window {late.window}; a mark `_LATE` lies beside them"
                )
                facts: dict[str, Fact] = {"dataset": name, "rows": rows, "window": late.window}
                self.warn("late_rows", sentence, facts)

    def _failing(self, feed: RunningFeed, tick: float) -> None:
        """Once per try: what could not be published, and when it is tried again."""
        told, failing = self._told_failing, feed.failing()
        self._told_failing = {part: each.tries for part, each in failing.items()}
        for part, trouble in sorted(failing.items()):
            if told.get(part) == trouble.tries:
                continue
            pause_s = max(trouble.next_try - tick, 0.0)
            dataset = dataset_of(part)
            sentence = (
                f"{dataset} is decided and not visible yet; trying again in {pause_s:.0f} s: "
                f"{trouble.why}"
            )
            facts: dict[str, Fact] = {"dataset": dataset, "tries": trouble.tries}
            self.warn("publish_failed", sentence, facts)

    def _parked(self, feed: RunningFeed) -> None:
        """Once per dataset and cause: what is decided and cannot be seen is worth an alarm.

        What was let go is told again when it is parked again, also if that took one turn.
        """
        for dataset, why in sorted(feed.state.parked_datasets.items()):
            if self._told_parked.get(dataset) != why:
                is_stopped = dataset in feed.state.stopped
                name = "dataset_stopped" if is_stopped else "parked"  # a feed's end is `stopped`
                how = "stopped" if is_stopped else "parked"
                sentence = f"{dataset} is {how}, decided and not visible: {why}"
                self.say(name, sentence, {"dataset": dataset}, level="error")
        self._told_parked = feed.state.parked_datasets

    def _topics(self, feed: RunningFeed, *, once: bool) -> None:
        """Topics that are not there. With `--once` the feed ends with them, if they are named."""
        for event in feed.topic_events():
            if not (once and event.name == "topic_missing"):
                self._tell(event)
