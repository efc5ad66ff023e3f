"""How much a cleaning has removed, by kind."""

from penstock.model.plural import number_of
from penstock.model.value import Value


class Cleaned(Value, frozen=True):
    """Numbers of removed things.

    `staged` files are of dead epochs and `abandoned` ones of the owner's own windows; `manifests`
    and `corrections` are objects that no entry names; `halted` are objects of halts that are over;
    `leftovers` are temporary files of the store itself.
    """

    staged: int = 0
    abandoned: int = 0
    manifests: int = 0
    corrections: int = 0
    halted: int = 0
    leftovers: int = 0

    @property
    def files(self) -> int:
        """Staged files of all kinds."""
        return self.staged + self.abandoned

    @property
    def objects(self) -> int:
        """Objects of the feed's own."""
        return self.manifests + self.corrections + self.halted

    @property
    def total(self) -> int:
        """All of it."""
        return self.files + self.objects + self.leftovers

    def sentence(self) -> str:
        """What was removed, in words; empty when it was nothing."""
        parts = [
            f"{number_of(count, noun)}{rest}"
            for count, noun, rest in (
                (self.staged, "staged file", " of dead runs"),
                (self.abandoned, "staged file", " of abandoned windows"),
                (self.manifests, "unused manifest", ""),
                (self.corrections, "unused file", " of corrected records"),
                (self.halted, "object", " of halts that are over"),
                (self.leftovers, "temporary file", ""),
            )
            if count
        ]
        return f"{', '.join(parts)} removed" if parts else ""
