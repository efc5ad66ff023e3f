"""`penstock check`: check all that a run needs, and show what each feed would read next."""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from penstock.api.store import StagesAsUploads
from penstock.cli.client_settings import connector_jars, registry_of, servers_of
from penstock.cli.common import (
    PROBE,
    configured,
    lake_store,
    print_rows,
    surroundings,
)
from penstock.cli.first_compilation import tell_compiling
from penstock.cli.halted_check import tell_halted, tell_held_back, tell_trouble
from penstock.cli.renamed_feeds import former_names
from penstock.cli.rights_check import missing_or_hidden, tell_rights, tell_unwritable
from penstock.cli.sample_check import (
    as_text,
    broken_rows,
    judge_sample,
    sampled,
    sentence_of,
    type_rows,
)
from penstock.cli.source_connection import AskedSource, AskedSources, asking_sources
from penstock.config.backup_feeds import backup_warnings
from penstock.config.convert_section import reveal_keys
from penstock.config.places import java_home
from penstock.datapath.driver.key_limits import check_key_room
from penstock.datapath.driver.shape_of_feed import shape_of
from penstock.datapath.schemas.dataset_schemas import declared_schema
from penstock.datapath.schemas.file_schemas import check_plugins, output_fields
from penstock.datapath.schemas.fixed_schema import fixed_for
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.shape.convert.visible_names import shown_by_names
from penstock.errors import PenstockError, TopicMissing
from penstock.feeds.next_window import NextWindow, judge_feed, next_window
from penstock.feeds.sample_window import SampleRanges, sample_ranges
from penstock.feeds.setting_changes import change_events
from penstock.feeds.topic_watch import missing_topics
from penstock.model.exit_codes import HALTED, worst
from penstock.model.layout import Layout
from penstock.model.plural import are, number_of
from penstock.model.ranges import TopicPartition
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.model.window import Available
from penstock.ports.store.scratch_store import ScratchStore
from penstock.ports.store.split_store import lake_of
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.lake_identity import known_identity, refuse_inside_another
from penstock.protocol.loop.owner import check_format
from penstock.protocol.loop.written_directories import check_partition, known_directories
from penstock.spark.java import find_java
from penstock.testing.memory_store import MemoryStore

State = Literal["ok", "warning", "failed", "halted"]
Row = dict[str, object]
_WIDTH = 12  # of the first column, at least


@dataclass(slots=True)
class Finding:
    """The result of one check."""

    what: str
    state: State = "ok"
    found: list[str] = field(default_factory=list)
    exit_code: int = 0
    rows: list[Row] = field(default_factory=list)
    types: list[Row] = field(default_factory=list)
    broken: list[Row] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)

    def warn(self, sentence: str) -> None:
        """Add a warning."""
        self.found.append(sentence)
        if self.state == "ok":
            self.state = "warning"

    def fail(self, error: PenstockError) -> None:
        """Add an error that would stop a run."""
        self.codes.add(error.code)
        self.halt(str(error), error.exit_code)

    def halt(self, sentence: str, exit_code: int = HALTED) -> None:
        """Add that a run would end, or would end again, with this exit code."""
        self.found.append(sentence)
        self.exit_code = worst([self.exit_code, exit_code])
        self.state = "halted" if self.exit_code == HALTED else "failed"


def run(chosen: argparse.Namespace) -> int:
    """Run all checks. A check that fails does not hide the others."""
    spec = configured(chosen)
    findings = []
    width = max([_WIDTH, *(len(f"feed {feed.name}") for feed in spec.feeds)])

    def tell(finding: Finding) -> None:
        findings.append(finding)
        _print(finding, chosen.output, width)

    feeds = number_of(len(spec.feeds), "feed")
    tell(Finding("file", found=[f"{chosen.config}: {feeds}"]))
    tell(_try("java", _java))
    if spec.uses_kafka:
        tell(_try("jars", lambda: _jars(spec)))
    lake = _lake(spec)
    tell(lake)
    if spec.registry:
        tell(_try("registry", lambda: _registry(spec)))
    for feed in spec.feeds:
        if _check_schemas(feed, tell) and lake.state != "failed":
            columns = _try(f"schema {feed.name}", partial(_columns, spec, feed))
            if columns.state != "ok":
                tell(columns)
    with asking_sources(spec) as sources:
        answering = _check_kafka(spec, sources, tell)
        for feed in spec.feeds:
            if answering.get(feed.name, True):
                tell(_feed(spec, feed, sources, chosen.sample))
            else:
                tell(_from_journal(spec, feed))
    return worst(finding.exit_code for finding in findings)


def _check_kafka(
    spec: LakeSpec, sources: AskedSources, tell: Callable[[Finding], None]
) -> dict[str, bool]:
    """Check the clusters, each once; for every feed that reads Kafka, whether its own answers.

    A cluster of some feeds only is named after the first of them.
    """
    answering: dict[str, bool] = {}
    told: dict[frozenset[tuple[str, str]], bool] = {}
    for feed in spec.feeds:
        if not feed.source.is_kafka:
            continue
        settings = frozenset({**spec.kafka, **feed.kafka}.items())
        if settings not in told:
            found = _try(
                f"kafka {feed.name}" if feed.kafka else "kafka",
                partial(_cluster, spec, feed, sources),
            )
            tell(found)
            told[settings] = found.state == "ok"
        answering[feed.name] = told[settings]
    return answering


def _cluster(spec: LakeSpec, feed: FeedSpec, sources: AskedSources) -> str:
    return f"cluster {sources.kafka(feed).cluster_id()} at {servers_of(spec, feed)}"


def _from_journal(spec: LakeSpec, feed: FeedSpec) -> Finding:
    """What is known about a feed while Kafka does not answer. Finds a damaged journal too."""
    finding = Finding(f"feed {feed.name}")
    try:
        journal = _journal(spec, feed)
        state = journal.open().state
        tell_trouble(finding, journal, surroundings().now())
        tell_unwritable(finding, journal.store, journal.layout, state.number + 1)
        windows = number_of(state.windows, "window")
        told = "never run" if state.is_new else f"{windows}, the journal is sound"
        finding.found.append(f"{told}; the next window is not known without Kafka")
        _check_layout(feed, journal, state)
        tell_held_back(finding, feed, state)
        tell_halted(finding, feed, journal, state, None)
    except PenstockError as error:
        finding.fail(error)
    return finding


def _try(what: str, look: Callable[[], str]) -> Finding:
    finding = Finding(what)
    try:
        finding.found.append(look())
    except PenstockError as error:
        finding.fail(error)
    return finding


def _java() -> str:
    java = find_java(java_home())
    return f"{java.path}, version {java.version}"


def _jars(spec: LakeSpec) -> str:
    jars = connector_jars(spec)
    return (
        f"{number_of(len(jars), 'jar')}, verified"
        if jars
        else "not checked: `spark:` in the configuration names its own"
    )


def _check_schemas(feed: FeedSpec, tell: Callable[[Finding], None]) -> bool:
    """Check schemas and patterns of the configuration; True without errors, which are reported."""
    looks: list[Callable[[], object]] = [partial(fixed_for, feed)]
    looks += [partial(declared_schema, feed, each) for each in feed.datasets if each.schema_kind]
    told = [_try(f"schema {feed.name}", lambda look=look: str(look())) for look in looks]  # type: ignore[misc]
    told.append(_try(f"plug-ins {feed.name}", partial(_plugins, feed)))
    if feed.convert and all(finding.state == "ok" for finding in told):
        told.append(_try(f"convert {feed.name}", partial(_converters, feed)))
    shown = Finding(f"convert {feed.name}")
    for sentence in shown_by_names(feed) if told[-1].state == "ok" else ():
        shown.warn(sentence)
    for finding in [*told, shown]:
        if finding.state != "ok":
            tell(finding)
    return all(finding.state == "ok" for finding in told)


def _columns(spec: LakeSpec, feed: FeedSpec) -> str:
    """Hold schemas, types and converters against the columns that the lake has, as a start does.

    What a start would write goes to a store that forgets.
    """
    lake = lake_store(spec)
    check_key_room(feed, lake.longest_key_bytes)
    store = ScratchStore(lake, MemoryStore())
    keys = reveal_keys([feed], os.environ)
    Learning(store, Layout(feed.name), feed, None, keys)
    return "as they were"


def _plugins(feed: FeedSpec) -> str:
    """Make everything that the feed finds by name, with its options."""
    check_plugins(feed)
    return "found"


def _converters(feed: FeedSpec) -> str:
    """Check secrets, and apply the steps to the declared schemas."""
    keys = reveal_keys([feed], os.environ)
    for each in feed.datasets:
        if each.schema_kind:
            output_fields(feed, declared_schema(feed, each), keys)
    return number_of(len(feed.convert), "step")


def _registry(spec: LakeSpec) -> str:
    registry = registry_of(spec)
    if registry is None:
        return "none"
    registry.check()
    return f"answers at {spec.registry['url']}"


def _lake(spec: LakeSpec) -> Finding:
    """Probe the lake's store; what its rules could do to a lake is a warning."""

    def look() -> str:
        store = lake_store(spec)
        if known_identity(store) is None:
            refuse_inside_another(store)
        store.probe(PROBE)
        if spec.journal is None:
            return f"{spec.lake.uri} has all that a lake needs"
        return f"{spec.lake.uri}, with {spec.journal.uri} for journals, has all that a lake needs"

    finding = _try("lake", look)
    if finding.state == "ok":
        store = lake_of(lake_store(spec))
        for sentence in store.upload_risks() if isinstance(store, StagesAsUploads) else ():
            finding.warn(sentence)
    return finding


def _feed(spec: LakeSpec, feed: FeedSpec, sources: AskedSources, sample: int) -> Finding:
    """Check one feed in the way its owner would, plan its next window, and sample it if asked."""
    finding = Finding(f"feed {feed.name}")
    source: AskedSource | None = None
    try:
        journal = _journal(spec, feed)
        state = journal.open().state
        tell_trouble(finding, journal, surroundings().now())
        tell_unwritable(finding, journal.store, journal.layout, state.number + 1)
        _check_layout(feed, journal, state)
        for event in change_events(feed, state):
            finding.warn(event.sentence)
        for sentence in backup_warnings(feed, spec.feeds):
            finding.warn(sentence)
        source = sources.of(feed)
        available = source.look()
        _tell_topics(finding, feed, state, available, source)
        tell_rights(finding, feed, source, available)
        if state.is_new:
            _tell_former_names(finding, spec, journal, available)
        gap = judge_feed(feed, state, available)
        if gap is not None:
            finding.warn(f"{gap.found} The run will accept this loss, because on_gap is accept.")
        found = next_window(feed, state, available, source)
        tell_halted(finding, feed, journal, state, available)
        _tell_expired(finding, available, found)
        _plan(finding, feed, available, found)
        if sample:
            _sample(finding, spec, source, journal, state, sample_ranges(found, available, sample))
    except TopicMissing as error:
        finding.fail(missing_or_hidden(source, error.topics, error))
    except PenstockError as error:
        finding.fail(error)
    return finding


def _check_layout(feed: FeedSpec, journal: FeedJournal, state: FeedState) -> None:
    """Raise what a start would, if files or directories would be others than the lake has."""
    check_format(feed.name, feed.format, state)
    check_partition(feed.name, shape_of(feed), known_directories(journal, state))


def _sample(
    finding: Finding,
    spec: LakeSpec,
    source: AskedSource,
    journal: FeedJournal,
    state: FeedState,
    chosen: SampleRanges,
) -> None:
    """Decode some records and tell what would become of them. Writes nothing."""
    (feed,) = [each for each in spec.feeds if each.name == journal.layout.feed]
    if not any(chosen.ranges):
        finding.found.append("no records to sample")
        return
    tell_compiling()
    found = sampled(spec, feed, source, chosen)
    finding.found.append(sentence_of(chosen, found.counts))
    finding.types, finding.broken = type_rows(found), broken_rows(found)
    warning = judge_sample(source, feed, journal, state, chosen, found)
    if warning:
        finding.warn(warning)


def _journal(spec: LakeSpec, feed: FeedSpec) -> FeedJournal:
    """The journal to read; of a feed that never ran, an empty one.

    Creates no identity for the lake. A lake without one is read too: data in it is an error.
    """
    store = lake_store(spec)
    identity = known_identity(store)
    return FeedJournal(store, Layout(feed.name), identity or "", surroundings())


def _tell_topics(
    finding: Finding, feed: FeedSpec, state: FeedState, available: Available, source: AskedSource
) -> None:
    found = {topic.topic for topic in available.topics}
    partitions = sum(len(topic.partitions) for topic in available.topics)
    finding.found.append(f"{number_of(len(found), 'topic')}, {number_of(partitions, 'partition')}")
    missing = missing_topics(feed, state.topics, available)
    if missing:  # a run delivers the others, and ends with this
        error = TopicMissing(*missing, never_read=True)
        finding.fail(missing_or_hidden(source, missing, error))
    if not found and feed.pattern:
        finding.warn(f"no topic matches the pattern {feed.pattern!r}")
    for (topic, partition), why in sorted(available.unreadable.items()):
        finding.warn(f"{topic}/{partition} cannot be read now: {why}")
    if state.undone:
        decided = number_of(len(state.undone), "decided window")
        finding.found.append(f"{decided} {are(len(state.undone))} to be finished first")
    tell_held_back(finding, feed, state)


def _tell_former_names(
    finding: Finding, spec: LakeSpec, journal: FeedJournal, available: Available
) -> None:
    topics = [topic.topic for topic in available.topics]
    configured = [feed.name for feed in spec.feeds]
    for sentence in former_names(journal, topics, configured, surroundings()):
        finding.warn(sentence)


def _tell_expired(finding: Finding, available: Available, found: NextWindow) -> None:
    """Warn of first offsets that have expired; it is only reached if such a loss is accepted."""
    for topic in available.topics:
        for partition, offsets in sorted(topic.partitions.items()):
            start = found.starts.get(TopicPartition(topic.topic_id, partition), offsets.earliest)
            if start < offsets.earliest:
                finding.warn(
                    f"{topic.topic}/{partition} would start at {start}, and the log starts at "
                    f"{offsets.earliest}. The run will accept this loss, because on_gap is accept."
                )


def _plan(finding: Finding, feed: FeedSpec, available: Available, found: NextWindow) -> None:
    """Show the ranges of the next window."""
    ranges = found.ranges
    finding.found.append(
        f"next window: {number_of(sum(map(len, ranges)), 'record')} "
        f"of {number_of(len(ranges), 'partition')}"
        if ranges
        else "nothing to read now"
    )
    finding.rows = list(_rows(feed, available, found))


def _rows(feed: FeedSpec, available: Available, found: NextWindow) -> Iterator[Row]:
    planned = {each.place: each for each in found.ranges}
    for topic in available.topics:
        for partition, offsets in sorted(topic.partitions.items()):
            place = TopicPartition(topic.topic_id, partition)
            next_range = planned.get(place)
            yield {
                "feed": feed.name,
                "topic": topic.topic,
                "partition": partition,
                "watermark": found.watermarks.get(place),
                "start": found.starts.get(place),
                "log_start": offsets.earliest,
                "log_end": offsets.latest,
                "next_from": next_range.start if next_range else None,
                "next_to": next_range.end if next_range else None,
                "next_records": len(next_range) if next_range else 0,
            }


def _print(finding: Finding, output: str, width: int) -> None:
    """Print one result at once, with its partitions below it."""
    if output == "json":
        line = {
            "what": finding.what,
            "state": finding.state,
            "found": finding.found,
            "exit_code": finding.exit_code,
            "partitions": finding.rows,
        }
        if finding.types or finding.broken:
            line |= {"types": finding.types, "would_quarantine": finding.broken}
        print(json.dumps(line), flush=True)
        return
    sentences = finding.found or [""]
    print(f"{finding.what:<{width}} {finding.state:<8} {sentences[0]}", flush=True)
    for sentence in sentences[1:]:
        print(f"{'':<{width}} {'':<8} {sentence}", flush=True)
    print_rows(finding.rows, "text")
    print_rows(as_text(finding.types), "text")
    print_rows(finding.broken, "text")
