"""The demo, step by step."""

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from confluent_kafka import KafkaException

from penstock.charts.svg_charts import Bar
from penstock.charts.terminal_charts import text_bars, text_grid
from penstock.demo.acts import (
    AUDIT,
    Run,
    Scene,
    audit,
    fill,
    run_and_kill,
    run_to_the_end,
    start_broker,
)
from penstock.demo.count import Tally, landed, refused_of, rows_of, tally
from penstock.demo.errors import DemoDifference, DemoFailed, DemoRefused
from penstock.demo.events import BROKEN, DAYS, PARTITIONS, TYPES, Topic, week_before
from penstock.demo.lakes import check_lake, lake_of
from penstock.demo.page import Facts, receipt_lines, sides, write_page
from penstock.demo.place import FEED, TOPIC, Place, prepare
from penstock.demo.screen import Screen
from penstock.demo.watch import Sight
from penstock.model.layout import Layout
from penstock.model.plural import number_of
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.servers import ServerFailed

DEFAULT_RECORDS = 200_000
LEAST, MOST = 1_000, 5_000_000
_WINDOWS = 10
_NO_BROKER_YET = "127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class DemoSpec:
    """The options of the demo."""

    directory: Path
    records: int = DEFAULT_RECORDS
    lake: str = ""
    store: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Ending:
    """The result of a demo, and its paths."""

    place: Place
    facts: Facts


def begin(spec: DemoSpec) -> tuple[Place, bool]:
    """Check the options and create the directory; True if an old demo was removed."""
    if not LEAST <= spec.records <= MOST:
        raise DemoRefused(
            f"A demo takes {LEAST:,} to {MOST:,} records, not {spec.records:,}.",
            "Nothing was started.",
        )
    if spec.store and not spec.lake:
        raise DemoRefused("--store is for a lake that --lake names.", "Nothing was started.")
    made, replaced = prepare(spec.directory)
    store = tuple(spec.store.items())
    place = replace(made, lake_uri=spec.lake, store=store, environ=spec.environ)
    if spec.lake:
        place.write_config(_NO_BROKER_YET, LEAST)
        check_lake(place)
    return place, replaced


def tell(spec: DemoSpec, place: Place, screen: Screen) -> Ending:
    """Run the demo. Nothing that it starts keeps running, however it ends."""
    try:
        with ExitStack() as stack:
            scene = Scene(place, lake_of(place), screen, stack, spec.records, time.time())
            client = _a_topic(scene)
            first, sight = _first_run(scene)
            second = _second_run(scene, first)
            facts = _proof(scene, client, (first, second), sight)
            screen.progress("stopping the broker")
    except (ServerFailed, KafkaException, TimeoutError) as error:
        log = place.kafka / "node-1" / "server.log"
        raise DemoFailed(f"The broker failed: {error}.", log) from error
    screen.close()
    write_page(place.page, facts)
    return Ending(place, facts)


def _a_topic(scene: Scene) -> KafkaClient:
    scene.screen.step("A topic that many kinds of events share")
    kafka = start_broker(scene)
    scene.screen.say(f"a Kafka broker, on {kafka.bootstrap}")
    client = KafkaClient(kafka.bootstrap)
    topic = Topic(scene.records, week_before(time.time()))
    fill(scene, client, topic)
    odd = topic.odd_ones()
    broken = sum(odd[kind] for kind in BROKEN)
    scene.screen.say(
        f"{scene.records:,} events of {len(TYPES)} types over {DAYS} days, "
        f"in {PARTITIONS} partitions"
    )
    scene.screen.more(
        f"some late, some early; {broken} broken in {len(BROKEN)} ways; "
        f"{odd['tombstone']} without a value"
    )
    scene.place.write_config(kafka.bootstrap, -(-scene.records // _WINDOWS))
    return client


def _first_run(scene: Scene) -> tuple[Run, Sight]:
    scene.screen.step(f"penstock run --once   ({scene.place.shown()}/penstock.yaml)")
    run, sight = run_and_kill(scene, scene.lake.onlooker)
    for line in at_the_kill(sight):
        scene.screen.more(line)
    return run, sight


def at_the_kill(sight: Sight) -> list[str]:
    """Print what was in the lake when the run was dead."""
    lines = [f"{number_of(len(sight.done), 'window')} done, {sight.visible_rows:,} rows visible"]
    if sight.decided:
        lines.append(f"window {sight.decided[0]} decided, and not all of it visible yet")
    if sight.staged_files:
        lines.append(f"{number_of(sight.staged_files, 'staged file')} that no reader sees")
    return lines


def _second_run(scene: Scene, first: Run) -> Run:
    scene.screen.step("penstock run --once   (again)")
    run = run_to_the_end(scene, scene.lake.onlooker, first)
    next_s = next((each.end_s for each in run.periods if each.records), run.ended_s)
    scene.screen.say(
        f"back {run.claimed_s - first.ended_s:.1f} s after the kill; "
        f"the next window visible after {next_s - first.ended_s:.1f} s"
    )
    if run.cleaned:
        were = "was" if run.cleaned == 1 else "were"
        files = number_of(run.cleaned, "staged file")
        scene.screen.more(f"{files} of the dead run {were} cleaned away")
    return run


def _proof(scene: Scene, client: KafkaClient, runs: tuple[Run, Run], sight: Sight) -> Facts:
    scene.screen.step("Is it all there, once?")
    feed = scene.lake.root / FEED
    quarantine = scene.lake.root / Layout(FEED).quarantine
    scene.screen.progress("an independent consumer reads the topic, pyarrow reads the lake")
    refused = list(refused_of(quarantine))
    count = tally(client.read_each(TOPIC), rows_of(feed), refused)
    _say_count(scene.screen, count)
    code, receipt = audit(scene)
    scene.screen.say(f"penstock {' '.join(AUDIT)}, its receipt:")
    for line in receipt_lines(receipt):
        scene.screen.more(line)
    first, second = runs
    reasons = Counter(each.reason for each in refused)
    return Facts(
        tally=count,
        landed=landed(feed),
        reasons=dict(reasons.most_common()),
        periods=(*first.periods, *second.periods),
        killed_s=first.ended_s,
        restarted_s=second.started_s,
        took_s=scene.screen.elapsed_s(),
        at_the_kill=f"Killed with {', '.join(at_the_kill(sight))}.",
        receipt=receipt_lines(receipt),
        audit_is_clean=code == 0,
        lake=scene.lake.shown,
        queries=scene.lake.queries,
    )


def _say_count(screen: Screen, count: Tally) -> None:
    screen.say("counted by a client and a reader that share no code with the pipeline:")
    screen.more(f"{count.records:>11,} records in Kafka")
    screen.more(f"{count.written:>11,} rows in the lake")
    screen.more(f"{count.quarantined:>11,} in the quarantine, with their bytes and a reason")
    screen.more(f"{count.filtered:>11,} filtered: records without a value")


def show(ending: Ending, screen: Screen, kept: bool) -> None:
    """Print the picture, the verdict, and the next commands."""
    facts = ending.facts
    screen.step("What landed: rows by type and day")
    kinds, days = sides(facts.landed)
    short = {(kind, day[5:]): number for (kind, day), number in facts.landed.items()}
    for line in text_grid(kinds, [day[5:] for day in days], short, screen.width, screen.marks):
        screen.plain(line)
    screen.plain()
    screen.plain("Why records were quarantined")
    bars = [Bar(reason, number) for reason, number in facts.reasons.items()]
    for line in text_bars(bars, min(screen.width, 60), screen.marks):
        screen.plain(line)
    screen.plain()
    count = facts.tally
    screen.verdict(count.sentence(), facts.is_clean)  # scripts read this line
    screen.plain(
        f"{count.records:,} records in Kafka = {count.written:,} rows + {count.quarantined:,} "
        f"quarantined + {count.filtered:,} filtered"
    )
    screen.plain(f"{screen.elapsed_s():.0f} s in all")
    if kept:
        _show_way_on(ending, screen)


def _show_way_on(ending: Ending, screen: Screen) -> None:
    where = ending.place.shown()
    screen.plain()
    screen.plain(f"the lake   {ending.facts.lake}/{FEED}/<type>/day=.../*.parquet")
    screen.plain(f"the page   {where}/{ending.place.page.name}")
    screen.plain("Query it; each of these is one line to paste:")
    for line in ending.facts.queries.values():
        screen.plain()
        screen.plain(line)


def judged(ending: Ending) -> None:
    """Raise if the count or the audit found a difference."""
    facts = ending.facts
    if not facts.tally.is_clean:
        spots = (*facts.tally.lost, *facts.tally.doubled, *facts.tally.changed)[:5]
        where = ", ".join(f"{TOPIC}/{partition}/{offset}" for partition, offset in spots)
        raise DemoDifference(f"The count says {facts.tally.sentence()}: {where}", ending.place.root)
    if not facts.audit_is_clean:
        raise DemoDifference("The audit found a difference", ending.place.root)
