"""The three outcomes of a write, and what a look at a staged file can show."""

from enum import Enum

from penstock.model.value import Value


class Outcome(Enum):
    """What is known about a write."""

    LANDED = "landed"
    NOT_LANDED = "not landed"
    UNKNOWN = "unknown"


class FinalState(Enum):
    """What is at a final name, judged by identity and never by existence."""

    ABSENT = "absent"
    OURS = "ours"
    FOREIGN = "foreign"


class Sighting(Value, frozen=True):
    """The state of a staged file and its final name."""

    final: FinalState
    staged: bool

    @property
    def is_done(self) -> bool:
        """Our file is visible and its staged source is gone, so no old process can restore it."""
        return self.final is FinalState.OURS and not self.staged

    @property
    def is_lost(self) -> bool:
        """Neither is there: published and then removed, or lost. Callers read the journal again."""
        return self.final is FinalState.ABSENT and not self.staged
