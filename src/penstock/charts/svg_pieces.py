"""Parts of a picture: safe text, formatted numbers, axes, and one style for light and dark.

Everything here is pure. Text may come from any producer of a topic, so all text goes through
`text`: it escapes markup, and makes control characters visible.
"""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH = 760
CHAR_PX = 6.7  # the width of a character of 12 px, rounded up to avoid overlaps
_LONGEST = 34
_THINNEST = 1e-200
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

_LIGHT = (
    "--pc-back:#ffffff;--pc-ink:#1f2937;--pc-soft:#5b6675;--pc-line:#dfe3e8;--pc-on:#ffffff;"
    "--pc-0:#2f6fb2;--pc-1:#d07a1c;--pc-2:#1f8f7d;--pc-3:#b8433a;--pc-4:#7a57a8;--pc-5:#6b7280"
)
_DARK = (
    "--pc-back:#12171f;--pc-ink:#e3e8ef;--pc-soft:#9aa7b8;--pc-line:#2b3442;--pc-on:#0d1218;"
    "--pc-0:#6fa8e6;--pc-1:#eba65a;--pc-2:#56c2ae;--pc-3:#ea7f74;--pc-4:#b496dd;--pc-5:#a3adba"
)
COLOURS = 6
STYLE = (
    f".pc{{{_LIGHT}}}@media(prefers-color-scheme:dark){{.pc{{{_DARK}}}}}"
    ".pc text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--pc-ink)}"
    ".pc .back{fill:var(--pc-back);stroke:var(--pc-line)}"
    ".pc text.title{font-size:15px;font-weight:600}"
    ".pc text.soft{fill:var(--pc-soft);font-size:11px}"
    ".pc text.on{fill:var(--pc-on)}"
    ".pc .grid{stroke:var(--pc-line);stroke-width:1}"
    ".pc .mark{stroke:var(--pc-3);stroke-width:1.5;stroke-dasharray:4 3}"
    ".pc .cell{fill:var(--pc-0)}"
    + "".join(
        f".pc .c{n}{{fill:var(--pc-{n})}}.pc .l{n}{{stroke:var(--pc-{n});fill:none;stroke-width:2}}"
        for n in range(COLOURS)
    )
)


def clean(words: str) -> str:
    """The text with control characters, bidi marks and half surrogates escaped."""
    if words.isprintable():
        return words
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii")
        for mark in words
    )


def safe(words: str) -> str:
    """Text escaped for XML, inside an element or a quoted attribute."""
    return escape(clean(words), {'"': "&quot;", "'": "&#39;"})


def shortened(words: str, most: int = _LONGEST) -> str:
    """At most `most` characters; a cut is marked."""
    seen = clean(words)
    return seen if len(seen) <= most else seen[: max(most - 1, 0)] + "…"


def text(x: float, y: float, words: str, look: str = "", anchor: str = "start") -> str:
    """A line of text at a position."""
    style = f' class="{look}"' if look else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{safe(words)}</text>'


def rect(x: float, y: float, size: tuple[float, float], look: str, tip: str = "") -> str:
    """A box; the tip is shown when a pointer is over it."""
    width, height = size
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"'
    return f"{shape} {look}>{_tip(tip)}</rect>" if tip else f"{shape} {look}/>"


def line(start: tuple[float, float], end: tuple[float, float], look: str, tip: str = "") -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    shape = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{look}"'
    return f"{shape}>{_tip(tip)}</line>" if tip else f"{shape}/>"


def dot(x: float, y: float, look: str, tip: str) -> str:
    """A point of a line."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="{look}">{_tip(tip)}</circle>'


def picture(title: str, pieces: Sequence[str], height: float, width: float = WIDTH) -> str:
    """A complete picture that includes its own style."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    frame = f'x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pc" role="img" {size} '
            f'style="max-width:100%;height:auto" aria-label="{safe(title)}">',
            f"<style>{STYLE}</style>",
            f'<rect {frame} class="back"/>',
            text(20, 28, title, "title"),
            *pieces,
            "</svg>",
        ]
    )


def legend(labels: Sequence[str], y: float) -> list[str]:
    """A coloured box and a name per series, in one line; an empty name is left out."""
    pieces, x = [], 20.0
    for number, label in enumerate(labels):
        if not label:
            continue
        shown = shortened(label)
        pieces.append(rect(x, y - 9, (10, 10), f'class="c{number % COLOURS}"'))
        pieces.append(text(x + 15, y, shown, "soft"))
        x += 32 + CHAR_PX * len(shown)
    return pieces


def brief(value: float) -> str:
    """A number for an axis or a narrow cell: 950, 1.2k, 35k, 4.1M."""
    if not math.isfinite(value):
        return "?"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def full(value: float) -> str:
    """A number in full: 184,203 or 12.5."""
    if not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def ticks(least: float, most: float, about: int = 5) -> list[float]:
    """Round numbers from at or below `least` to at or above `most`."""
    span = most - least
    if span <= abs(most) * 1e-12 or span < _THINNEST:  # practically one number
        span = max(abs(most), 1.0)
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((s * power for s in _STEPS if s * power >= raw), 10 * power)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """Powers of ten around positive numbers."""
    first, last = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    step = max(1, math.ceil((last - first) / 8))
    return [10.0**power for power in range(first, max(last, first + 1) + step, step)]


def _tip(words: str) -> str:
    return f"<title>{safe(words)}</title>"
