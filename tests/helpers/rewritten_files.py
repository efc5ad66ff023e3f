"""Compaction of real Parquet files, as the library call `compact` wants it: for tests."""

import io
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.care.compact import Rewrite, RewriteOrder
from penstock.model.entries import Deciding
from penstock.model.evidence import Evidence
from penstock.model.manifest import ManifestFile
from penstock.model.staged import StagingSpot
from penstock.protocol.feed_book.feed_journal import FeedJournal


def rewriting(journal: FeedJournal) -> Rewrite:
    """Writes the rows of all inputs to one file, in the directory of the first."""

    def rewrite(order: RewriteOrder) -> tuple[ManifestFile, ...]:
        files = [recorded(journal, final) for final in order.inputs]
        tables = [
            pq.read_table(io.BytesIO(journal.store.read(final) or b""), partitioning=None)
            for final in order.inputs
        ]
        final = f"{order.inputs[0].rpartition('/')[0]}/c{order.window}.zstd.parquet"
        spot = StagingSpot(order.staging, order.window, "rewritten")
        writer = journal.store.open_staged(final, spot)
        into = io.BytesIO()
        pq.write_table(pa.concat_tables(tables, promote_options="default"), into)
        writer.write(into.getvalue())
        writer.sync()
        ranges = tuple(sorted({each for file in files for each in file.ranges}))
        evidence = Evidence.total(file.evidence for file in files)
        return (ManifestFile(order.dataset, writer.finish(), evidence, ranges),)

    return rewrite


def recorded(journal: FeedJournal, final: str) -> ManifestFile:
    """A file as the journal records it."""
    return next(file for file in every_file(journal) if file.handle.final == final)


def every_file(journal: FeedJournal) -> Iterable[ManifestFile]:
    """Every file that an entry ever brought."""
    for number in range(journal.open().state.number + 1):
        body = journal.require(number).body
        if isinstance(body, Deciding):
            yield from journal.content_of(body).files
