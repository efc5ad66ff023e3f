"""The configurations that shaped rows: objects of the lake by their digests, which entries name."""

import msgspec

from penstock.model.row_config import CONFIG_FORMAT, RowConfig, digest_of, settings_in
from penstock.model.row_settings import Settings
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book.errors import ConfigDamaged
from penstock.protocol.feed_book.feed_journal import FeedJournal


class RowConfigs:
    """Keeps the text of a configuration in the lake before an entry names it.

    The same text has the same name, so that creating it again, by anyone, changes nothing. What was
    kept once is not asked for again.
    """

    def __init__(self, journal: FeedJournal) -> None:
        self._journal = journal
        self._kept: set[str] = set()

    def keep(self, config: RowConfig | None) -> str:
        """The digest for an entry, once the text lies in the lake; empty without a configuration.

        Raises `ConfigDamaged` if another text lies there, and `OutcomeUnknown`.
        """
        if config is None:
            return ""
        if config.digest not in self._kept:
            key = self._journal.layout.config(config.digest)
            if create_once(self._journal.store, key, config.text) is not None:
                raise ConfigDamaged(key, "it holds another text than its name says")
            self._kept.add(config.digest)
        return config.digest


def read_config(journal: FeedJournal, digest: str) -> Settings | None:
    """The settings that a digest stands for; None if there is no such object.

    Raises `ConfigDamaged`, and `EntryNewer` when a newer version wrote it.
    """
    key = journal.layout.config(digest)
    raw = journal.store.read(key)
    if raw is None:
        return None
    if digest_of(raw) != digest:
        raise ConfigDamaged(key, "it holds another text than its name says")
    try:
        return settings_in(raw)
    except (msgspec.MsgspecError, ValueError) as error:
        damaged = ConfigDamaged(key, f"it is not a configuration: {error}")
        raise newer_or(damaged, raw, CONFIG_FORMAT) from error
