"""The demo's output: lines with the time; on a terminal, also a progress line."""

from collections.abc import Callable
from textwrap import wrap
from typing import TextIO

from penstock.charts.terminal_charts import Marks, marks_for

_CLEAR = "\r\x1b[2K"
_BOLD, _DIM, _RED, _GREEN, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"
_MARGIN = 9
_BAR = 24


class Screen:
    """Prints the demo. `colour` and the progress line need a terminal; a pipe gets plain lines."""

    def __init__(
        self, out: TextIO, clock: Callable[[], float], width: int = 80, colour: bool = False
    ) -> None:
        self._out = out
        self._clock = clock
        self._begun_at = clock()
        self._moves = out.isatty()
        self._colour = colour and self._moves
        self._is_dirty = False
        self.width = max(width, 40)
        self.marks: Marks = marks_for(out.encoding)

    def elapsed_s(self) -> float:
        """Seconds since the demo began."""
        return self._clock() - self._begun_at

    def title(self, words: str) -> None:
        """A line in bold, without a time."""
        self._put(self._dressed(words, _BOLD))

    def plain(self, words: str = "") -> None:
        """A line to copy: without a time, never cut."""
        self._put(words)

    def step(self, words: str) -> None:
        """Print that the next step begins."""
        self._put("")
        self._put(self._timed(self._dressed(words, _BOLD)))

    def say(self, words: str) -> None:
        """Print an event."""
        self._put(self._timed(words))

    def tell(self, sentence: str) -> None:
        """Print a sentence, on as many lines as it needs."""
        self._put_lines(sentence, "")

    def alarm(self, sentence: str) -> None:
        """Print a sentence in a warning colour, on as many lines as it needs."""
        self._put_lines(sentence, _RED)

    def more(self, words: str) -> None:
        """Print a line that belongs to the one before it."""
        self._put(" " * _MARGIN + words)

    def verdict(self, words: str, is_good: bool) -> None:
        """Print the verdict."""
        self._put(self._dressed(self._dressed(words, _GREEN if is_good else _RED), _BOLD))

    def progress(self, words: str, done: int = 0, total: int = 0) -> None:
        """Show progress, on a terminal only; the next line replaces it."""
        if not self._moves:
            return
        bar = ""
        if total:
            full = min(_BAR * done // total, _BAR)
            bar = self.marks.parts[-1] * full + self.marks.shades[0] * (_BAR - full) + " "
        room = self.width - 1 - _MARGIN
        self._out.write(f"{_CLEAR}{self._time()}  {(bar + words)[:room]}")
        self._out.flush()
        self._is_dirty = True

    def close(self) -> None:
        """Leave the terminal on a clean line."""
        if self._is_dirty:
            self._out.write(_CLEAR)
            self._out.flush()
            self._is_dirty = False

    def _put(self, line: str) -> None:
        self.close()
        self._out.write(f"{self._writable(line)}\n")
        self._out.flush()

    def _put_lines(self, sentence: str, how: str) -> None:
        first, *others = wrap(sentence, self.width - 1 - _MARGIN, break_on_hyphens=False) or [""]
        self._put(self._timed(self._dressed(first, how) if how else first))
        for line in others:
            self.more(self._dressed(line, how) if how else line)

    def _timed(self, words: str) -> str:
        return f"{self._dressed(self._time(), _DIM)}  {words}"

    def _time(self) -> str:
        return f"{self.elapsed_s():5.1f} s"

    def _dressed(self, words: str, how: str) -> str:
        return f"{how}{words}{_PLAIN}" if self._colour else words

    def _writable(self, line: str) -> str:
        """The text with characters escaped that the output's encoding does not have."""
        encoding = self._out.encoding or "ascii"
        return line.encode(encoding, "backslashreplace").decode(encoding)
