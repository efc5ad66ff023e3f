"""The error for a configuration with mistakes."""

from penstock.config.mistakes import MOST_MISTAKES, Mistake
from penstock.errors import PenstockError


class ConfigInvalid(PenstockError):
    """The configuration cannot be used; `mistakes` has all mistakes in it."""

    code = "CONFIG_INVALID"
    exit_code = 2

    def __init__(self, source: str, mistakes: tuple[Mistake, ...]) -> None:
        count = len(mistakes)
        number = "one mistake" if count == 1 else f"{count} mistakes"
        if count >= MOST_MISTAKES:
            number = f"at least {count} mistakes"
        lines = "".join(f"\n  {mistake}" for mistake in mistakes)
        super().__init__(
            f"{source} has {number}, and nothing was started.",
            f"Correct this, then run `penstock check`:{lines}",
        )
        self.source = source
        self.mistakes = mistakes
