"""Counts in sentences: `1 window`, `2 windows`."""


def number_of(count: int, noun: str, many: str = "") -> str:
    """A count with its noun; `many` is the plural where a letter s does not make it."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"
