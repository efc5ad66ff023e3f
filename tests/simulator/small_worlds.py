"""The small worlds that are explored whole."""

from tests.simulator.exhaustive import Actor, SmallWorld
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.programs import (
    cleaner,
    compactor,
    corrector,
    late_tidying_owner,
    owner,
    replayer,
    seeker,
)


def _kafka() -> SimKafka:
    """Two partitions, and two windows of one record from each."""
    return SimKafka({0: ["a", "a"], 1: ["b", "b"]})


def quick_worlds() -> tuple[SmallWorld, ...]:
    """A few seconds each; run with the tests."""
    return (
        SmallWorld("two owners, no faults", _kafka(), _owners(0), switches=3, delays=0),
        SmallWorld("two owners, a crash each", _kafka(), _owners(1), switches=1, delays=0),
        SmallWorld("two owners, a delay", _kafka(), _owners(0), switches=1, delays=1),
        SmallWorld("two owners, a crash each, a delay", _kafka(), _owners(1), switches=0),
        SmallWorld("two owners that tidy late", _kafka(), _tidying(0), switches=2, delays=0),
    )


def all_worlds() -> tuple[SmallWorld, ...]:
    """The whole proof; minutes."""
    beside = SimKafka({0: ["a", "a"], 1: [BAD]})
    return (
        SmallWorld("two owners, a crash each, a delay", _kafka(), _owners(1), switches=2),
        SmallWorld(
            "the same on a store that publishes in one act",
            _kafka(),
            _owners(1),
            switches=1,
            atomic_publish=True,
        ),
        SmallWorld("two owners, a crash each", _kafka(), _owners(1), switches=3, delays=0),
        SmallWorld("two owners, a delay", _kafka(), _owners(0), switches=3, delays=1),
        SmallWorld("two owners that tidy late, a delay", _kafka(), _tidying(0), switches=1),
        SmallWorld(
            "two owners that tidy late, a crash each", _kafka(), _tidying(1), switches=2, delays=0
        ),
        SmallWorld(
            "an owner, a compaction, a cleaner, a crash each",
            beside,
            (
                Actor("owner", owner()),
                Actor("compact", compactor("a")),
                Actor("clean", cleaner()),
            ),
            switches=2,
            delays=0,
            stage_at_once=False,
        ),
        SmallWorld(
            "an owner, two replays, a crash each, a delay",
            beside,
            (
                Actor("owner", owner()),
                Actor("replay", replayer("a")),
                Actor("again", replayer("b"), crashes=0),
            ),
            switches=1,
        ),
        SmallWorld(
            "an owner, a correction, a replay, a crash each, a delay",
            beside,
            (
                Actor("owner", owner()),
                Actor("fix", corrector("a")),
                Actor("replay", replayer("b"), crashes=0),
            ),
            switches=1,
        ),
        SmallWorld(
            "an owner, a seek, a crash each, a delay",
            beside,
            (Actor("owner", owner()), Actor("seek", seeker(0, 1))),
            switches=2,
        ),
    )


def _owners(crashes: int) -> tuple[Actor, ...]:
    return (Actor("one", owner(), crashes), Actor("two", owner(), crashes))


def _tidying(crashes: int) -> tuple[Actor, ...]:
    tidying = late_tidying_owner()
    return (Actor("one", tidying, crashes), Actor("two", tidying, crashes))
