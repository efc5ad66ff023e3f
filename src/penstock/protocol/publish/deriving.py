"""Deriving files of a decided window again: by the configuration and the schemas of then."""

from penstock.model.entries import Window
from penstock.model.layout import Layout
from penstock.model.row_config import RowConfig, changes, settings_in
from penstock.model.window import StageOrder
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.row_configs import read_config
from penstock.protocol.publish.errors import ConfigChanged


def check_same_config(journal: FeedJournal, body: Window, now: RowConfig | None) -> None:
    """Raise `ConfigChanged` if the present configuration would make other rows.

    Entries of formats before 4 do not say what they were made with; they are not judged. Digests of
    two versions may differ for keys that one of them did not have, so the texts decide.
    """
    if now is None or body.config in ("", now.digest):
        return
    then = read_config(journal, body.config)
    if then is None:
        raise ConfigChanged(journal.layout.feed, body.window, ())
    changed = changes(then, settings_in(now.text))
    if changed:
        raise ConfigChanged(journal.layout.feed, body.window, changed)


def order_again(layout: Layout, body: Window) -> StageOrder:
    """The order to read a decided window again, so that the same rows and columns come out.

    The times that were believed then are believed again. Entries before format 4 do not say with
    which schemas records were read, so theirs are read with the newest.
    """
    return StageOrder(
        layout.feed,
        body.window,
        layout.staging,
        body.ranges,
        body.generation,
        body.planned_s,
        body.counts.largest_bytes,
        decided=True,
        schemas=body.schemas if body.config else None,
        reading=body.reading,
    )
