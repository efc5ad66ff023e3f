"""Feeds of the lake that the configuration does not name: a new feed may be one of them, renamed.

A feed is known by its name. Under another one it starts over, and delivers everything again into
another directory. That may be meant, so it is only said.
"""

from collections.abc import Iterable, Iterator

from penstock.api.store import Store
from penstock.errors import PenstockError
from penstock.model.layout import Layout
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.runtime.surroundings import Surroundings

_HOME = "_penstock"
_LAST = "\U0010ffff"  # sorts behind every other character


def feeds_of_lake(store: Store) -> Iterator[str]:
    """The names of all feeds that have a journal in a lake: one short listing for each."""
    after = ""
    while found := list_keys(store, _HOME, after, limit=1):
        name, slash, _ = found[0].removeprefix(f"{_HOME}/").partition("/")
        after = f"{_HOME}/{name}/{_LAST}" if slash else found[0]
        if slash and list_keys(store, Layout(name).journal, limit=1):
            yield name


def former_names(
    journal: FeedJournal, topics: Iterable[str], configured: Iterable[str], around: Surroundings
) -> Iterator[str]:
    """A sentence for each feed that is not configured and has read the same topics.

    `journal` is that of a feed that has never run.
    """
    wanted, known = set(topics), set(configured)
    for name in feeds_of_lake(journal.store):
        if name in known:
            continue
        try:
            state = FeedJournal(journal.store, Layout(name), journal.lake, around).open().state
        except PenstockError:
            continue  # it is not in the file, so its journal is not for this command to judge
        shared = sorted(wanted & state.topics.keys())
        if shared:
            yield (
                f"this feed has never run, and feed {name!r}, which the file does not name, has "
                f"read {', '.join(shared)} into this lake. If it was renamed, give it back its "
                "name: under the new one everything is delivered again."
            )
