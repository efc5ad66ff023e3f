"""Names of the consumer groups that jobs read as. Driver only.

Spark keeps consumers, and records that were fetched ahead, by the name of their group. Of every
name and partition it remembers the settings as long as its JVM lives. A name of its own for every
job, which is Spark's way, makes it grow for ever. One name for all would hand what was fetched for
one job to the next, and that may come from a log that has been replaced since.

So a few names take turns: until one comes again, what was kept under it is long let go. Another
life of a topic, and other settings, have other names. No group is ever joined or committed to.
"""

import itertools
import threading
from collections.abc import Mapping

from penstock.model.ranges import OffsetRange

TURNS = 16

_Use = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]


class ReadingGroups:
    """The names of one JVM. Safe for several feeds on threads of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: dict[_Use, tuple[int, itertools.count[int]]] = {}

    def next(self, options: Mapping[str, str], ranges: tuple[OffsetRange, ...]) -> str:
        """The name for the next job that reads these topics with these settings of Kafka."""
        lives = frozenset((each.topic, each.topic_id) for each in ranges)
        use = frozenset(options.items()), lives
        with self._lock:
            number, turns = self._uses.setdefault(use, (len(self._uses), itertools.count()))
            return f"penstock-reading-{number}-{next(turns) % TURNS}"
