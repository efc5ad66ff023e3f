"""Counts and sizes in sentences: `1 window is`, `2 windows are`, `41.2 MB`."""


def number_of(count: int, noun: str, many: str = "") -> str:
    """A count with its noun; `many` is the plural where a letter s does not make it."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def are(count: int) -> str:
    """The verb for so many: `is` or `are`."""
    return "is" if count == 1 else "are"


def size_in_words(size_bytes: int) -> str:
    """A size as people say it: `870 bytes`, `8.7 KB`, `41.2 MB`, `1.4 GB`."""
    if size_bytes < 1_000:
        return number_of(size_bytes, "byte")
    for unit, scale in (("KB", 1e3), ("MB", 1e6)):
        if size_bytes < 999.95 * scale:
            return f"{size_bytes / scale:.1f} {unit}"
    return f"{size_bytes / 1e9:,.1f} GB"
