"""Looking whether something was decided about a halted feed: then a run takes it up again."""

from typing import assert_never

from penstock.errors import PenstockError
from penstock.model.entries import (
    AnyBody,
    Bind,
    Compact,
    Drop,
    Finalize,
    Gap,
    Generation,
    Park,
    Rebind,
    Replace,
    Replay,
    Retire,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim, Seal
from penstock.protocol.feed_book.acceptance import is_accepted
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState


class HaltedWatch:
    """Looks at the journal of one feed, from the entry on at which it halted. One thread.

    `refused`: it halted at a window that an operator may accept, which is not an entry.
    """

    def __init__(self, journal: FeedJournal, state: FeedState, *, refused: bool) -> None:
        self._journal = journal
        self._state = state
        self._number = state.number  # the state may be folded on by whoever writes down the halt
        self._refused = refused
        self._may_go_on = False

    def may_go_on(self) -> bool:
        """Whether the feed may go on; once true, it stays so. A request, or two if `refused`.

        A lake that does not answer, or a journal that is damaged, leaves the feed as it is.
        """
        try:
            self._may_go_on = self._may_go_on or self._is_decided() or self._is_accepted()
        except PenstockError:
            return False
        return self._may_go_on

    def _is_decided(self) -> bool:
        journal = self._journal
        if journal.store.head(journal.layout.entry(self._number + 1)) is None:
            return False
        for sealed in journal.entries_after(self._number):
            self._number = sealed.number
            if lets_go_on(sealed.body):
                return True
        return False

    def _is_accepted(self) -> bool:
        return self._refused and is_accepted(self._journal, self._state)


def lets_go_on(body: AnyBody) -> bool:
    """Whether an entry may have removed the cause of a halt, or shows that it is gone.

    A claim does not: two instances that halt for the same cause would start each other for ever.
    """
    match body:
        case Gap() | Seek() | Rebind() | Unpark() | Generation() | Window():
            return True
        case Bind() | Claim() | Start() | Park() | Replace():  # an owner that has come no further
            return False
        case (
            Replay() | Drop() | Compact() | Retire() | Finalize() | Seal()
        ):  # nothing changes what is read
            return False
        case _ as never:
            assert_never(never)
