"""What a round of compaction inside a run has done, and what it has left."""

from penstock.model.debt import Debt
from penstock.model.plural import number_of
from penstock.model.value import Value


class Compacted(Value, frozen=True):
    """So many files of so many directories became `into` others; `debt` is what is left to do."""

    directories: int = 0
    files: int = 0
    into: int = 0
    size_bytes: int = 0
    debt: Debt = Debt()

    def sentence(self) -> str:
        """What was done, in words; empty when it was nothing."""
        if not self.files:
            return ""
        directories = number_of(self.directories, "directory", "directories")
        return f"{number_of(self.files, 'file')} of {directories} became {self.into}"
