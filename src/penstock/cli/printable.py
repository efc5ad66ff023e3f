"""Makes text safe to print: it may come from any producer of a topic."""

CUT = "..."


def printable(text: str) -> str:
    """The text with control characters and invisible characters escaped."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else _escaped(mark) for mark in text)


def printable_bytes(data: bytes | None, most: int | None = None) -> str:
    """Bytes as text, escaped where they are not UTF-8, cut to `most` characters.

    A null is shown as `(null)`, unlike an empty value.
    """
    if data is None:
        return "(null)"
    head = data if most is None else data[: 4 * most]  # no character is longer than four bytes
    text = printable(head.decode("utf-8", "backslashreplace"))
    if most is None or (len(text) <= most and len(head) == len(data)):
        return text
    return text[: most - len(CUT)] + CUT


def _escaped(mark: str) -> str:
    return mark.encode("unicode_escape").decode("ascii")
