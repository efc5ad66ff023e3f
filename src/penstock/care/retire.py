"""Retention: removes files of done windows, by an entry of the journal."""

from penstock.care.command_entries import decide_for_command
from penstock.care.done_files import inventory_of
from penstock.model.entries import AnyBody, Retire, SealedEntry
from penstock.model.manifest import Content, Group, Input
from penstock.model.steps import REMOVE
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.runtime.surroundings import Surroundings


def retire(
    journal: FeedJournal,
    around: Surroundings,
    dataset: str,
    inputs: tuple[str, ...],
    author: str,
    reason: str,
) -> SealedEntry:
    """Remove the named files of done windows, for retention."""

    def build(fold: FeedFold, window: str) -> AnyBody:
        taken = tuple(Input(dataset, final) for final in inputs)
        content = Content(inputs=taken)
        body = Retire(
            window=window,
            groups=(Group(dataset, 0, 0, 0, REMOVE),),
            content=content,
            consumes=inventory_of(fold).groups_of(taken),
            author=author,
            reason=reason,
        )
        return journal.with_content(body, content)

    return decide_for_command(journal, around, build)
