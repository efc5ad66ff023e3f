"""The configurations that entries name: each must lie in the lake, whole."""

from collections.abc import Iterator

from penstock.audit.ledger import Ledger
from penstock.audit.receipt import Difference
from penstock.protocol.feed_book.errors import ConfigDamaged
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.row_configs import read_config


def config_differences(journal: FeedJournal, ledger: Ledger) -> Iterator[Difference]:
    """Texts that are gone or altered, with the first entry that names each."""
    for digest, number in sorted(ledger.configs.items(), key=lambda each: each[1]):
        key = journal.layout.config(digest)
        try:
            if read_config(journal, digest) is None:
                words = "it is gone: the configuration that shaped the rows of this entry"
                yield Difference("file_missing", words, key, entry=number)
        except ConfigDamaged as error:
            yield Difference("file_contents", error.why, key, entry=number)
