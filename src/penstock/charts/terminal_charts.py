"""Charts for a terminal: bars and a shaded grid, in block characters or in plain ASCII.

Every function returns lines that fit the given width. Control characters are removed first: a name
in an event must not be able to move the reader's cursor.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.charts.svg_charts import Bar
from penstock.charts.svg_pieces import brief, clean, full

_GAP = 2


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters to draw with: parts of a bar from thin to full, shades from light to dark."""

    parts: str
    shades: str
    cut: str
    is_ascii: bool = False


BLOCKS = Marks(parts="▏▎▍▌▋▊▉█", shades="░▒▓█", cut="…")
ASCII = Marks(parts="#", shades=".:+#", cut="~", is_ascii=True)


def marks_for(encoding: str | None) -> Marks:
    """Block characters if the output's encoding has them, otherwise ASCII."""
    try:
        (BLOCKS.parts + BLOCKS.shades + BLOCKS.cut).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def text_bars(bars: Sequence[Bar], width: int = 80, marks: Marks = BLOCKS) -> list[str]:
    """A line per bar: name, bar, number, note."""
    if not bars:
        return []
    numbers = [full(bar.value) for bar in bars]
    notes = [_seen(bar.note, marks) for bar in bars]
    most = max((bar.value for bar in bars if math.isfinite(bar.value)), default=0.0)
    label_width = min(max(_columns(_seen(bar.label, marks)) for bar in bars), max(width // 3, 4))
    number_width = max(map(len, numbers))
    note_width = max(map(_columns, notes))
    room = width - label_width - number_width - note_width - (3 if note_width else 2) * _GAP
    if room < 4:  # no room for a note
        notes, note_width = [""] * len(bars), 0
        room = max(width - label_width - number_width - 2 * _GAP, 1)
    lines = []
    for bar, number, note in zip(bars, numbers, notes, strict=True):
        share = bar.value / most if most > 0 and math.isfinite(bar.value) else 0.0
        words = [
            _fitted(_seen(bar.label, marks), label_width, marks),
            _padded(_drawn(share * room, marks), room),
            number.rjust(number_width),
            note,
        ]
        lines.append(_fitted((" " * _GAP).join(words).rstrip(), width, marks).rstrip())
    return lines


def text_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float],
    width: int = 80,
    marks: Marks = BLOCKS,
) -> list[str]:
    """A head line, then a line per row: a shade per cell, and its number where there is room.

    Columns that do not fit are left out, and the head line says how many.
    """
    if not rows or not columns:
        return []
    label_width = min(max(_columns(_seen(row, marks)) for row in rows), max(width // 4, 4))
    shown = {place: brief(value) for place, value in values.items()}
    number = max((len(words) for words in shown.values()), default=1)
    room = width - label_width
    head_width = max(_columns(_seen(name, marks)) for name in columns)
    cell = min(max(number + 3, head_width) + _GAP, room // len(columns))
    has_numbers = cell >= number + 4  # two shades, and a gap on each side
    cell = max(cell if has_numbers else min(cell, head_width + 1), 2)
    fits = max(min(len(columns), (room - (0 if cell * len(columns) <= room else 9)) // cell), 1)
    head = " " * label_width + "".join(
        _right(_fitted(_seen(name, marks), cell - 1, marks).strip(), cell)
        for name in columns[:fits]
    )
    lines = [head + (f" +{len(columns) - fits} more" if fits < len(columns) else "")]
    most = max((value for value in values.values() if math.isfinite(value)), default=0.0)
    for row in rows:
        cells = [
            _right(_shaded(values.get((row, name)), most, marks, has_numbers), cell)
            for name in columns[:fits]
        ]
        lines.append(_fitted(_seen(row, marks), label_width, marks) + "".join(cells))
    return [line.rstrip() for line in lines]


def _shaded(value: float | None, most: float, marks: Marks, has_number: bool) -> str:
    if value is None or not math.isfinite(value):
        return "-" if value is None else "?"
    share = value / most if most > 0 else 0.0
    last = len(marks.shades) - 1
    shade = marks.shades[min(int(share * len(marks.shades)), last)] if value > 0 else " "
    return (
        f"{shade}{shade} {brief(value)}"
        if has_number and value > 0
        else (brief(value) if has_number else shade)
    )


def _drawn(length: float, marks: Marks) -> str:
    """A bar of a given width. Every positive value is visible."""
    whole, part = divmod(max(length, 0.0), 1.0)
    steps = len(marks.parts)
    piece = int(part * steps)
    if length > 0 and whole == 0 and piece == 0:
        piece = 1
    tail = marks.parts[piece - 1] if piece else ""
    return marks.parts[-1] * int(whole) + tail


def _seen(words: str, marks: Marks) -> str:
    """The text made safe to print."""
    harmless = clean(words)
    return (
        harmless.encode("ascii", "backslashreplace").decode("ascii") if marks.is_ascii else harmless
    )


def _columns(words: str) -> int:
    """The width of the text in terminal columns."""
    return sum(_column(mark) for mark in words)


def _column(mark: str) -> int:
    if unicodedata.combining(mark):
        return 0
    return 2 if unicodedata.east_asian_width(mark) in {"W", "F"} else 1


def _padded(words: str, width: int) -> str:
    return words + " " * max(width - _columns(words), 0)


def _right(words: str, width: int) -> str:
    return " " * max(width - _columns(words), 0) + words


def _fitted(words: str, width: int, marks: Marks) -> str:
    """The text at exactly this width: cut with a mark, or padded."""
    if _columns(words) <= width:
        return _padded(words, width)
    kept, used = "", 0
    for mark in words:
        if used + _column(mark) > width - 1:
            break
        kept, used = kept + mark, used + _column(mark)
    return _padded(kept + marks.cut, width)
