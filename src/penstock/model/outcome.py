"""The three outcomes of a write, and what a look at a staged file can show."""

from enum import Enum

from penstock.model.value import Value


class Outcome(Enum):
    """What is known about a write after it was asked for."""

    LANDED = "landed"
    NOT_LANDED = "not landed"
    UNKNOWN = "unknown"


class FinalState(Enum):
    """What lies at a final name, judged by identity and never by existence."""

    ABSENT = "absent"
    OURS = "ours"
    FOREIGN = "foreign"


class Sighting(Value, frozen=True):
    """What one look at a staged file and its final name showed."""

    final: FinalState
    staged: bool

    @property
    def is_done(self) -> bool:
        """Ours is visible and its staged source is gone, so no sleeper can bring it back."""
        return self.final is FinalState.OURS and not self.staged

    @property
    def is_lost(self) -> bool:
        """Neither is there: published and removed since, or lost. Fold again before deciding."""
        return self.final is FinalState.ABSENT and not self.staged
