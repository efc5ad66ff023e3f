"""The results as pictures."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figures import OURS, PLAIN, READ_ONLY
from penstock.charts.svg_charts import Axes, Bar, Series, bar_chart, line_chart

# Figures of whole runs are kept here, with the code.
KEPT = Path(__file__).parent
NAMES = {PLAIN: "plain Spark", OURS: "Penstock", READ_ONLY: "reading only"}
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')
_FLEXIBLE = ' style="max-width:100%;height:auto"'


def place_for(out: Path | None, is_whole: bool) -> Path | None:
    """Where to write; a quick look must not take the place of the figures that are kept."""
    if out is None or is_whole or out.resolve() != KEPT.resolve():
        return out
    print(f"not written: {out}/results.json keeps whole runs only; --out DIR writes elsewhere")
    return None


def write_down(out: Path, name: str, found: Mapping[str, object], picture: str) -> None:
    """Leave the figures and their picture in a directory."""
    write_figures(out, name, found)
    drawn = out / f"{name}.svg"
    drawn.write_text(picture, encoding="utf-8")
    print(f"written: {drawn}")


def write_figures(out: Path, name: str, found: Mapping[str, object]) -> None:
    """Leave the figures in a directory."""
    out.mkdir(parents=True, exist_ok=True)
    figures = out / f"{name}.json"
    figures.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"written: {figures}")


def earlier(out: Path, name: str) -> dict[str, object]:
    """The figures that are there already; programs that share a file leave those of each other."""
    place = out / f"{name}.json"
    found: dict[str, object] = json.loads(place.read_text("utf-8")) if place.exists() else {}
    return found


def comparison(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Every way of every workload: by time, by processor time, and its memory."""
    charts = []
    for title, figure, unit, scale in (
        ("Records per second", "records_per_s", "", 1),
        ("Records per CPU-second, without the broker", "records_per_cpu_s", "", 1),
        ("Peak memory, without the broker", "peak_rss_bytes", "MiB", 2**20),
    ):
        bars = [
            Bar(f"{workload.replace('_', ' ')}: {name}", round(found[way][figure] / scale), "", n)
            for workload, found in results.items()
            for n, (way, name) in enumerate(NAMES.items())
        ]
        charts.append(bar_chart(title, bars, unit))
    return stacked("Penstock against plain Spark and reading only", charts)


def growth(found: Mapping[str, Any]) -> str:
    """How cost grows with types, records and windows."""
    journal = found["journal"]
    return stacked(
        "How cost grows",
        [
            _per_record("Time per record, by number of types", found["types"], "types"),
            _per_record("Time per record, by records of a window", found["records"], "records"),
            line_chart(
                "Opening a journal",
                [
                    Series("with a checkpoint", _points(journal, "windows", "start_s")),
                    Series("from its entries alone", _points(journal, "windows", "fold_s")),
                ],
                Axes("windows", "seconds", log_x=True, log_y=True),
            ),
        ],
    )


def stacked(title: str, charts: Sequence[str]) -> str:
    """Several pictures below each other, as one."""
    pieces, top, widest = [], 0, 0
    for chart in charts:
        size = _SIZE.search(chart)
        if size is None:
            raise ValueError("a picture without a size")
        # Inside another picture, a height of "auto" would mean all of it.
        pieces.append(f'<g transform="translate(0 {top})">{chart.replace(_FLEXIBLE, "", 1)}</g>')
        top += int(size[2]) + 12
        widest = max(widest, int(size[1]))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}"'
    frame = f'width="{widest}" height="{top}" viewBox="0 0 {widest} {top}"'
    return "\n".join([f"{head} {frame}{_FLEXIBLE}>", *pieces, "</svg>", ""])


def _per_record(title: str, rows: Sequence[Mapping[str, float]], over: str) -> str:
    series = [
        Series("by the clock", _points(rows, over, "us_per_record")),
        Series("processor time", _points(rows, over, "cpu_us_per_record")),
    ]
    return line_chart(title, series, Axes(over, "microseconds", log_x=True))


def _points(rows: Sequence[Mapping[str, float]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows]
