"""SVG charts: bars, lines, a heat table, a timeline.

    Path("speed.svg").write_text(bar_chart("Records per second", [Bar("Penstock", 210_000)]))

Pure functions without dependencies. A picture includes its style, follows the reader's light or
dark scheme, and needs no script: a `<title>` has the exact numbers. `terminal_charts` draws the
same charts in a terminal.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.charts.svg_pieces import (
    CHAR_PX,
    COLOURS,
    WIDTH,
    brief,
    dot,
    full,
    legend,
    line,
    log_ticks,
    picture,
    rect,
    shortened,
    text,
    ticks,
)

_ROW = 26.0
_TOP = 46.0
_PLOT_HEIGHT = 260.0
_FAINTEST = 0.10
_DARK_ENOUGH = 0.65  # above this share the number on a cell has the other colour
_LABEL_PX = (70.0, 250.0)
_HUGE, _TINY = 1e100, 1e-100  # larger numbers would overflow


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `group` selects its colour (see `groups`), `note` follows its number."""

    label: str
    value: float
    note: str = ""
    group: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart. Points that are not numbers, or not positive on a log axis, become gaps
    in the line."""

    label: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of a line chart. Without `log_y` the vertical axis starts at zero."""

    x: str = ""
    y: str = ""
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A period on a row of a timeline; `group` selects its colour."""

    row: str
    start: float
    end: float
    tip: str = ""
    group: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """An instant of a timeline, drawn through all rows."""

    at: float
    label: str


def bar_chart(
    title: str, bars: Sequence[Bar], unit: str = "", groups: Sequence[str] = (), log: bool = False
) -> str:
    """Horizontal bars with their numbers. On a log scale the shortest bar is still visible."""
    left = _label_width([bar.label for bar in bars])
    top = _TOP + (24 if groups else 0)
    behind = [f"{full(bar.value)}{f' {unit}' if unit else ''}{_spaced(bar.note)}" for bar in bars]
    room = WIDTH - left - 36 - CHAR_PX * max((len(words) for words in behind), default=0)
    share = _shares([bar.value for bar in bars], log)
    pieces = legend(groups, _TOP + 8) if groups else []
    for number, bar in enumerate(bars):
        y = top + _ROW * number
        width = max(share[number] * max(room, 60.0), 1.0)
        look = f'class="c{bar.group % COLOURS}"'
        pieces.append(text(left - 8, y + 17, shortened(bar.label), anchor="end"))
        pieces.append(rect(left, y + 4, (width, _ROW - 8), look, f"{bar.label}: {behind[number]}"))
        pieces.append(text(left + width + 7, y + 17, behind[number], "soft"))
    return picture(title, pieces, top + _ROW * len(bars) + 16)


def line_chart(title: str, series: Sequence[Series], axes: Axes | None = None) -> str:
    """Lines in one coordinate system, with a legend if there are several."""
    axes = axes or Axes()
    top = _TOP + (24 if len(series) > 1 else 0) + (14 if axes.y else 0)
    kept = [[point for point in each.points if _shows(point, axes)] for each in series]
    xs = _Scale.over([x for points in kept for x, _ in points], axes.log_x, (70.0, WIDTH - 30.0))
    heights = [y for points in kept for _, y in points]
    ys = _Scale.over(
        heights if axes.log_y else [0.0, *heights], axes.log_y, (top + _PLOT_HEIGHT, top)
    )
    pieces = legend([each.label for each in series], _TOP + 8) if len(series) > 1 else []
    pieces += _frame(xs, ys, axes)
    for number, (each, points) in enumerate(zip(series, kept, strict=True)):
        colour = number % COLOURS
        pieces += [_path(run, xs, ys, f"l{colour}") for run in _runs(each.points, axes)]
        pieces += [
            dot(xs.place(x), ys.place(y), f"c{colour}", f"{each.label}: {full(x)}, {full(y)}")
            for x, y in points
        ]
    return picture(title, pieces, top + _PLOT_HEIGHT + (48 if axes.x else 32))


def heat_table(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float],
) -> str:
    """A table whose cells are darker for larger values; cells without a value stay empty."""
    left = _label_width(rows)
    cell = min(92.0, (WIDTH - left - 20) / max(len(columns), 1))
    most = max((value for value in values.values() if math.isfinite(value)), default=0.0)
    letters = max(int(cell / CHAR_PX), 1)
    pieces = [
        text(left + cell * (at + 0.5), _TOP + 10, shortened(name, letters), "soft", "middle")
        for at, name in enumerate(columns)
    ]
    for down, row in enumerate(rows):
        y = _TOP + 18 + _ROW * down
        pieces.append(text(left - 8, y + 17, shortened(row), anchor="end"))
        for at, column in enumerate(columns):
            value = values.get((row, column))
            if value is not None:
                place = (left + cell * at, y)
                tip = f"{row}, {column}: {full(value)}"
                pieces += _cell(place, cell, value, value / most if most > 0 else 0.0, tip)
    return picture(title, pieces, _TOP + 34 + _ROW * len(rows))


def timeline(
    title: str, spans: Sequence[Span], marks: Sequence[Mark] = (), groups: Sequence[str] = ()
) -> str:
    """Periods in seconds, one row each; instants are drawn through all rows."""
    rows = list(dict.fromkeys(span.row for span in spans))
    left = _label_width(rows)
    top = _TOP + (24 if groups else 0) + (18 if marks else 0)
    bottom = top + _ROW * len(rows)
    times = [0.0, *(s.start for s in spans), *(s.end for s in spans), *(m.at for m in marks)]
    xs = _Scale.over(times, False, (left, WIDTH - 30.0))
    pieces = legend(groups, _TOP + 8) if groups else []
    for value in xs.ticks:
        pieces.append(line((xs.place(value), top), (xs.place(value), bottom), "grid"))
        pieces.append(text(xs.place(value), bottom + 16, f"{brief(value)} s", "soft", "middle"))
    for down, row in enumerate(rows):
        y = top + _ROW * down
        pieces.append(text(left - 8, y + 17, shortened(row), anchor="end"))
        for span in (each for each in spans if each.row == row):
            start, end = xs.place(span.start), xs.place(span.end)
            look = f'class="c{span.group % COLOURS}"'
            pieces.append(rect(start, y + 4, (max(end - start, 2.0), _ROW - 8), look, span.tip))
    pieces += _marked(marks, xs, (top, bottom))
    return picture(title, pieces, bottom + 34)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps numbers to coordinates, between the first and the last tick."""

    ticks: Sequence[float]
    place: Callable[[float], float]

    @classmethod
    def over(cls, numbers: Sequence[float], log: bool, ends: tuple[float, float]) -> "_Scale":
        found = numbers or [1.0]
        marks = (log_ticks if log else ticks)(min(found), max(found))
        low, high = (math.log10(m) if log else m for m in (marks[0], marks[-1]))

        def place(value: float) -> float:
            share = ((math.log10(value) if log else value) - low) / ((high - low) or 1.0)
            return ends[0] + share * (ends[1] - ends[0])

        return cls(marks, place)


def _frame(xs: _Scale, ys: _Scale, axes: Axes) -> list[str]:
    """The frame of a line chart: grid, ticks, labels of the axes."""
    left, right = xs.place(xs.ticks[0]), xs.place(xs.ticks[-1])
    bottom, top = ys.place(ys.ticks[0]), ys.place(ys.ticks[-1])
    pieces = []
    for value in ys.ticks:
        pieces.append(line((left, ys.place(value)), (right, ys.place(value)), "grid"))
        pieces.append(text(left - 8, ys.place(value) + 4, brief(value), "soft", "end"))
    for value in xs.ticks:
        pieces.append(line((xs.place(value), bottom), (xs.place(value), bottom + 4), "grid"))
        pieces.append(text(xs.place(value), bottom + 18, brief(value), "soft", "middle"))
    if axes.y:
        pieces.append(text(20, top - 12, axes.y, "soft"))
    if axes.x:
        pieces.append(text((left + right) / 2, bottom + 36, axes.x, "soft", "middle"))
    return pieces


def _marked(marks: Sequence[Mark], xs: _Scale, rows: tuple[float, float]) -> list[str]:
    """Dashed lines with their labels, placed so that labels do not overlap."""
    top, bottom = rows
    pieces = []
    ordered = sorted(marks, key=lambda mark: mark.at)
    limits = [*(xs.place(mark.at) for mark in ordered[1:]), float(WIDTH)]
    for mark, limit in zip(ordered, limits, strict=True):
        x, label = xs.place(mark.at), shortened(mark.label)
        pieces.append(line((x, top - 4), (x, bottom), "mark", mark.label))
        if x + CHAR_PX * len(label) < limit:
            pieces.append(text(x + 4, top - 8, label, "soft"))
        else:
            pieces.append(text(x - 4, top - 8, label, "soft", "end"))
    return pieces


def _shows(point: tuple[float, float], axes: Axes) -> bool:
    x, y = point
    if not (abs(x) < _HUGE and abs(y) < _HUGE):  # also false for NaN
        return False
    return not ((axes.log_x and x <= _TINY) or (axes.log_y and y <= _TINY))


def _runs(points: Sequence[tuple[float, float]], axes: Axes) -> list[list[tuple[float, float]]]:
    """The points of a line, split where one cannot be shown."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if _shows(point, axes):
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if len(run) > 1]


def _path(points: Sequence[tuple[float, float]], xs: _Scale, ys: _Scale, look: str) -> str:
    places = " ".join(f"{xs.place(x):.1f},{ys.place(y):.1f}" for x, y in points)
    return f'<polyline points="{places}" class="{look}"/>'


def _cell(
    place: tuple[float, float], width: float, value: float, share: float, tip: str
) -> list[str]:
    x, y = place
    strength = _FAINTEST + (1 - _FAINTEST) * min(max(share, 0.0), 1.0) if value > 0 else 0.03
    look = f'class="cell" fill-opacity="{strength:.2f}"'
    words = full(value) if CHAR_PX * len(full(value)) < width - 6 else brief(value)
    ink = "on" if strength > _DARK_ENOUGH else ""
    return [
        rect(x + 1, y + 1, (width - 2, _ROW - 2), look, tip),
        text(x + width / 2, y + 17, words, ink, "middle"),
    ]


def _shares(values: Sequence[float], log: bool) -> list[float]:
    """The length of each bar, from 0 to 1. It is 0 for what is not a positive number."""
    real = [value for value in values if math.isfinite(value) and value > 0]
    if not real:
        return [0.0] * len(values)
    low, high = (math.log10(min(real)) - 0.5, math.log10(max(real))) if log else (0.0, max(real))
    return [
        0.0 if value not in real else ((math.log10(value) if log else value) - low) / (high - low)
        for value in values
    ]


def _label_width(labels: Sequence[str]) -> float:
    longest = max((len(shortened(label)) for label in labels), default=0)
    least, most = _LABEL_PX
    return min(max(CHAR_PX * longest + 28, least), most)


def _spaced(note: str) -> str:
    return f" · {note}" if note else ""
