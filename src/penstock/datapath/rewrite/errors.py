"""Errors of a rewrite: nothing of it becomes visible."""

from penstock.errors import PenstockError


class InputChanged(PenstockError):
    """A file that should be rewritten is not the one that the journal records."""

    code = "COMPACTION_INPUT_CHANGED"

    def __init__(self, final: str, why: str) -> None:
        super().__init__(
            f"The file {final!r} cannot be compacted: {why}.",
            "Nothing was decided or changed. Damage is never carried into a new file; "
            "`penstock audit FEED --deep` says what is wrong with it.",
        )
        self.final = final
        self.why = why


class RewriteRefused(PenstockError):
    """The rows of some files cannot be held by one file."""

    code = "COMPACTION_REFUSED"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"Files of {what} cannot be compacted: {why}.",
            "Nothing was decided or changed; the files stay as they are, and readers see all of "
            "them.",
        )
        self.what = what
        self.why = why


class RowsDiffer(PenstockError):
    """A compacted file does not hold what its inputs hold."""

    code = "COMPACTION_DIFFERS"

    def __init__(self, final: str, why: str) -> None:
        super().__init__(
            f"The compacted file {final!r} would not hold what its inputs hold: {why}.",
            "Nothing was decided: the inputs are as they were, and nothing is visible of the new "
            "file. This is a fault of a library, of this machine, or of Penstock; run the command "
            "again, perhaps on another machine, and report it with this sentence.",
        )
        self.final = final
        self.why = why
