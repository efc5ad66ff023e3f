"""Counts in sentences: `1 window is`, `2 windows are`."""


def number_of(count: int, noun: str, many: str = "") -> str:
    """A count with its noun; `many` is the plural where a letter s does not make it."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def are(count: int) -> str:
    """The verb for so many: `is` or `are`."""
    return "is" if count == 1 else "are"
