"""Observes a lake in a bucket while a run works in it. Staged files are uploads that stay open."""

from dataclasses import replace

from penstock.api.store import Store
from penstock.demo.folders import Folder
from penstock.demo.watch import Sight, sight_of, window_in_entry
from penstock.model.layout import Layout
from penstock.ports.store.list_keys import list_keys


class BucketOnlooker:
    """Observes one feed repeatedly: three listings a look. Entries are read once."""

    pause_s = 0.1  # requests are paid for

    def __init__(self, store: Store, feed: str, data: Folder) -> None:
        self._store = store
        self._layout = Layout(feed)
        self._data = data
        self._windows: dict[str, str] = {}

    def look(self) -> Sight:
        """Windows and staged files, without reading rows; staged files are listed first."""
        layout = self._layout
        staged = [
            ref.window for ref in self._store.list_staged(layout.staging, layout.data_prefixes)
        ]
        for key in list_keys(self._store, layout.journal):
            if _stem(key) not in self._windows:
                self._windows[_stem(key)] = window_in_entry(self._store.read(key) or b"")
        marked = {_stem(key) for key in list_keys(self._store, layout.done)}
        return sight_of(staged, self._windows, marked)

    def look_closely(self) -> Sight:
        """The same, with the number of rows that a reader sees now."""
        return replace(self.look(), visible_rows=self._data.rows())


def _stem(key: str) -> str:
    return key.rpartition("/")[2].removesuffix(".json")
