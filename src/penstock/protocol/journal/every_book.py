"""What is the same in every book: place and epoch of an entry, claims, seals, the hash. Pure."""

from penstock.model.envelope import Body, Claim, Envelope, Seal, Sealed
from penstock.protocol.journal.book import B, Book, L
from penstock.protocol.journal.book_state import BookState, S, sealed_to


def objection(book: Book[S, B, L], state: S, entry: Envelope[B]) -> str | None:
    """Why this entry cannot be the next one, or None when it can."""
    return (
        place_objection(book, state, entry)
        or epoch_objection(state, entry)
        or seal_objection(state, entry)
        or book.objection(state, entry)
    )


def place_objection(book: Book[S, B, L], state: S, entry: Envelope[B]) -> str | None:
    """Numbers have no holes, and entry 0 is the binding."""
    if entry.number != state.number + 1:
        return f"its number is {entry.number} and the next one is {state.number + 1}"
    if isinstance(entry.body, book.first) != (entry.number == 0):
        return f"the first entry, and no other, must bind the {book.name}"
    return None


def epoch_objection(state: BookState, entry: Envelope[Body]) -> str | None:
    """A claim takes the next epoch; everything else is decided in the epoch of the last claim."""
    wanted = state.epoch + 1 if isinstance(entry.body, Claim) else state.epoch
    if entry.epoch != wanted:
        return f"it is of epoch {entry.epoch} and the journal is at {wanted}"
    return None


def seal_objection(state: BookState, entry: Envelope[Body]) -> str | None:
    """A seal continues the one before it, and covers entries that are there."""
    body = entry.body
    if not isinstance(body, Seal):
        return None
    if body.first != sealed_to(state) + 1:
        return f"it seals from entry {body.first}, and all up to {sealed_to(state)} is sealed"
    if not body.first <= body.last < state.number:
        return f"it seals the entries {body.first} to {body.last}, and the last is {state.number}"
    return None


def take_claim(state: BookState, entry: Envelope[Body]) -> None:
    """A claim brings an epoch and an owner."""
    if isinstance(entry.body, Claim):
        state.epoch, state.owner = entry.epoch, entry.body.owner


def take_seal(state: BookState, entry: Envelope[Body]) -> None:
    """The newest seal covers all up to its last entry."""
    if isinstance(entry.body, Seal):
        state.seal = entry.body


def apply(book: Book[S, B, L], state: S, sealed: Sealed[B]) -> None:
    """Take one entry, already judged by the rules, into the state."""
    entry = sealed.entry
    take_claim(state, entry)
    take_seal(state, entry)
    book.apply(state, sealed)
    state.number, state.sha256 = entry.number, sealed.sha256
