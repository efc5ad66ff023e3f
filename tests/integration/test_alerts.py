"""A real Prometheus scrapes a real server, and every alert fires by its cause and stops with it.

Goal: whoever takes the rules of `deploy/prometheus` is woken when it matters, within two
evaluations, and not for longer. Method: journals, markers and beats are written by hand, one feed
for each cause; publishing fails in a real owner beside its counters. All waits are as long as they
take; how many evaluations lie between a cause and its alert is read from Prometheus itself.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.model.spec import FeedSpec
from penstock.runtime.run_figures import RunFigures
from penstock.serve.app import application
from penstock.serve.facts_keeper import FactsKeeper
from penstock.serve.feed_reader import FeedReader
from penstock.serve.feed_view import MetricOptions
from penstock.serve.server import Address, HttpServer, allowed_hosts, listen
from tests.helpers.flaky_store import FOR_GOOD, FlakyStore
from tests.helpers.http_asking import ask
from tests.helpers.journals import an_owner
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.prometheus import Prometheus, eventually, promtool
from tests.helpers.told_feeds import Beating, ToldFeed
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import Room, surroundings

pytestmark = pytest.mark.xdist_group("processes")

DEPLOY = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES = DEPLOY / "penstock.rules.yml"
TOLD = (
    "behind", "apart", "stale", "expiring", "parked", "broken", "halted", "quiet", "torn"
)  # fmt: skip
CONFIG = "\n".join(
    [
        "version: 1",
        "lake: ./lake",
        'kafka: {bootstrap.servers: "nowhere:1"}',
        "feeds:",
        *(f"  {name}: {{topics: [events]}}" for name in TOLD),
    ]
)


def test_the_rules_are_sound_and_do_what_they_say() -> None:
    assert "SUCCESS: 10 rules found" in promtool("check", "rules", str(RULES))
    promtool("check", "config", str(DEPLOY / "prometheus.yml"))
    promtool("test", "rules", str(DEPLOY / "penstock.rules.test.yml"))


def test_no_alert_is_without_a_cause_that_a_test_makes() -> None:
    named = re.findall(r"alert: (\w+)", RULES.read_text())
    assert sorted(cause.alert for cause in CAUSES) == sorted(named)


def test_every_metric_of_a_rule_is_one_that_we_have() -> None:
    page = (DEPLOY.parents[1] / "docs" / "metrics.md").read_text()
    named = set(re.findall(r"penstock_[a-z_]+", RULES.read_text()))
    assert len(named) > 10
    assert [name for name in named if f"| `{name}" not in page] == []


@dataclass(frozen=True)
class Cause:
    """What wakes somebody: the alert, and the samples by which its cause is seen."""

    alert: str
    feed: str
    samples: str
    is_there: Callable[[float], bool]


WINDOW = 10_000  # records of a window in which all are broken, or one

CAUSES = (
    Cause("PenstockBehindKafka", "behind", "penstock_lag_records", lambda v: v > 1e6),
    Cause("PenstockDatasetsApart", "apart", "penstock_dataset_spread_records", lambda v: v > 1e5),
    Cause("PenstockNothingDone", "stale", "penstock_lag_records", lambda v: v > 0),
    Cause(
        "PenstockRecordsExpireSoon",
        "expiring",
        "penstock_retention_headroom_seconds",
        lambda v: v < 21600,
    ),
    Cause("PenstockParked", "parked", "penstock_parked_datasets", lambda v: v > 0),
    Cause(
        "PenstockQuarantineRate",
        "broken",
        "penstock_records_quarantined_total",
        lambda v: v >= WINDOW,
    ),
    Cause("PenstockPublishFailures", "feed", "penstock_publish_failures_total", lambda v: v > 0),
    Cause("PenstockHalted", "halted", "penstock_feed_halted", lambda v: v > 0),
    Cause("PenstockNoOwner", "quiet", "penstock_owner_alive", lambda v: v == 0),
    Cause("PenstockUnreadable", "torn", "penstock_feed_readable", lambda v: v == 0),
)


def quick_rules() -> str:
    """The rules without their patience, and with a tick at every evaluation."""
    text = re.sub(r"\bfor: \w+", "for: 0s", RULES.read_text())
    text = re.sub(r"\[\d+m\]", "[6s]", text)
    return text + "\n      - {record: 'test:tick', expr: time()}\n"


@contextmanager
def served(config: Path) -> Iterator[str]:
    """`penstock serve` in a process of its own; where it answers. SIGTERM ends it with 0."""
    words = ["-m", "penstock", "serve", "-c", str(config), "--port", "0"]
    process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1]
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


class PublishingRun:
    """What `run --serve` has in its process: an owner that publishes, its counters, a server."""

    def __init__(self, lake: DiskLake) -> None:
        self.store = FlakyStore(lake.root)
        self.kafka = SimKafka({0: ["a", "b"] * 2000}, latest={0: 0})
        around = surroundings("run")
        room = Room("run", self.store, around, self.kafka)
        self._owner = an_owner(room, max_records=2, park_after=10_000)
        figures = RunFigures()
        self._owner.troubles.counters = figures.of("feed")
        reader = FeedReader(FeedSpec(name="feed"), lambda _: room.journal(), lambda _: None, "")
        keeper = FactsKeeper([reader], lambda: None, around, figures)
        app = application(keeper, MetricOptions(), None, allowed_hosts("127.0.0.1"))
        self.server = HttpServer(app, listen(Address("127.0.0.1", 0), None), print)

    def turn(self) -> None:
        """Two more records, and a window."""
        self.kafka.latest[0] += 2
        self._owner.run_window()


def test_each_alert_fires_within_two_evaluations_and_stops_when_its_cause_is_mended(
    tmp_path: Path,
) -> None:
    lake = DiskLake(tmp_path)
    lake.config.write_text(CONFIG)
    feeds = {name: ToldFeed(lake.store, name) for name in TOLD}
    feeds["stale"].behind_s = 7200.0
    for feed in feeds.values():
        feed.window("a", "b")
        feed.sees(keeps_s=7 * 86400.0)
    run = PublishingRun(lake)
    run.turn()
    with ExitStack() as stack:
        stack.enter_context(Beating(*feeds.values()))
        url = stack.enter_context(served(lake.config))
        own = stack.enter_context(run.server).url
        targets = [each.removeprefix("http://") for each in (url, own)]
        prometheus = stack.enter_context(Prometheus(tmp_path, quick_rules(), targets))

        def wanted() -> list[str]:
            found = prometheus.firing()
            return [cause.alert for cause in CAUSES if f"{cause.alert} {cause.feed}" in found]

        def go_on(broken: int) -> list[str]:
            feeds["broken"].window("a", "b", records=WINDOW, broken=broken)
            feeds["broken"].sees()
            run.turn()
            return wanted()

        eventually(
            lambda: (
                prometheus.samples('penstock_records_quarantined_total{feed="broken"}[5m]')
                if go_on(1) == []
                else []
            ),
            lambda found: len(found) > 1,
        )
        assert wanted() == [], "nothing is wrong yet"

        run.store.broken = {"a": FOR_GOOD}
        feeds["behind"].sees(2_000_000)
        feeds["stale"].sees(5)
        feeds["expiring"].sees(keeps_s=3600.0)
        apart = feeds["apart"].window("a", "b", records=200_000, done=False)
        feeds["apart"].show(apart, "b")
        parked = feeds["parked"].window("a", "b", done=False)
        feeds["parked"].show(parked, "b")
        feeds["parked"].park(parked, "a")
        feeds["halted"].halt()
        feeds["quiet"].let_go()
        feeds["torn"].damage()
        eventually(lambda: go_on(WINDOW), lambda found: len(found) == len(CAUSES))
        check_evaluations(prometheus)
        promtool("check", "metrics", given=ask(url, "/metrics").body)
        promtool("check", "metrics", given=ask(own, "/metrics?partitions=1").body)

        run.store.broken = {}
        feeds["behind"].sees(0)
        feeds["stale"].behind_s = 0.0
        feeds["stale"].window("a", "b")
        feeds["stale"].sees(5)
        feeds["expiring"].sees(keeps_s=7 * 86400.0)
        feeds["apart"].show(apart, "a")
        feeds["parked"].unpark("a")
        feeds["parked"].show(parked, "a")
        feeds["halted"].window("a", "b")
        feeds["quiet"].come_back()
        feeds["torn"].heal()
        eventually(lambda: go_on(1), lambda found: found == [])


def check_evaluations(prometheus: Prometheus) -> None:
    """Between the first sample with the cause and the alert there are at most two evaluations."""
    ticks = [at for at, _ in prometheus.samples("test:tick[5m]")]
    since = prometheus.firing()
    for cause in CAUSES:
        samples = prometheus.samples(f'{cause.samples}{{feed="{cause.feed}"}}[5m]')
        first = next(at for at, value in samples if cause.is_there(value))
        active = since[f"{cause.alert} {cause.feed}"]
        between = [at for at in ticks if first < at <= active + 0.001]
        assert len(between) <= 2, (cause.alert, len(between))
