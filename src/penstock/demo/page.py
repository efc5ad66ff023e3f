"""The page of a demo: one HTML file with its pictures inside, which needs no network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.charts.svg_charts import Bar, Mark, Span, bar_chart, heat_table, timeline
from penstock.charts.svg_pieces import safe
from penstock.demo.count import Tally

_STYLE = """
:root{color-scheme:light dark;--back:#f4f6f8;--ink:#1f2937;--soft:#5b6675;--card:#fff;
--line:#dfe3e8;--good:#1f7a4d;--bad:#b8433a}
@media(prefers-color-scheme:dark){:root{--back:#0b0f14;--ink:#e3e8ef;--soft:#9aa7b8;--card:#12171f;
--line:#2b3442;--good:#63c795;--bad:#ea7f74}}
body{margin:0 auto;max-width:800px;padding:28px 20px 60px;background:var(--back);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:24px;margin:0 0 4px}p{margin:6px 0 14px}.soft{color:var(--soft)}
.verdict{font-size:30px;font-weight:700;margin:18px 0 0}
.good{color:var(--good)}.bad{color:var(--bad)}
figure{margin:22px 0}figcaption{color:var(--soft);font-size:13px;margin:6px 2px}
svg{display:block;width:100%}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;
overflow:auto;font:12.5px/1.5 ui-monospace,Menlo,Consolas,monospace}
"""
_FATES = ("read", "written", "quarantined", "filtered", "empty", "given_up")
_GROUPS = ("delivered", "Spark starts", "", "killed in the middle")
_COLOUR = {"delivered": 0, "starting": 1, "killed": 3}  # in the order of the legend


@dataclass(frozen=True, slots=True)
class Period:
    """A period in seconds since the demo began: a window, or a start of Spark."""

    name: str
    start_s: float
    end_s: float
    kind: str  # starting | delivered | killed
    records: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the page shows, collected during the demo."""

    tally: Tally
    landed: Mapping[tuple[str, str], int]
    reasons: Mapping[str, int]
    periods: Sequence[Period]
    killed_s: float
    restarted_s: float
    took_s: float
    at_the_kill: str
    receipt: Sequence[str]
    audit_is_clean: bool
    lake: str = ""
    queries: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """True when the count and the audit found nothing."""
        return self.tally.is_clean and self.audit_is_clean


def page(facts: Facts) -> str:
    """The whole page."""
    count = facts.tally
    mood = "good" if facts.is_clean else "bad"
    figures = "\n".join(
        f"<figure>{picture}<figcaption>{safe(words)}</figcaption></figure>"
        for picture, words in _figures(facts)
    )
    queries = "\n\n".join(safe(line) for line in facts.queries.values())
    receipt = "\n".join(safe(line) for line in facts.receipt)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Penstock demo: {safe(count.sentence())}</title><style>{_STYLE}</style></head><body>
<h1>Penstock demo</h1>
<p class="soft">{count.records:,} mixed events through Kafka into a lake, with one kill -9
on the way, in {facts.took_s:.0f} seconds.</p>
<p class="verdict {mood}">{safe(count.sentence())}</p>
<p>Counted by a Kafka consumer and a Parquet reader that share no code with the pipeline:
{count.records:,} records in Kafka = {count.written:,} rows in the lake
+ {count.quarantined:,} in the quarantine + {count.filtered:,} filtered.</p>
{figures}
<h2>The receipt of the audit</h2>
<pre>{receipt}</pre>
<h2>Look at it yourself</h2>
<pre>{queries}</pre>
</body></html>
"""


def _figures(facts: Facts) -> list[tuple[str, str]]:
    return [
        (
            windows_picture(facts),
            f"{facts.at_the_kill} The second run took over, finished what was decided, and read "
            "on from the watermark.",
        ),
        (
            heat_picture(facts.landed),
            "Each cell is a directory of Parquet files. Events come late and out of order, and "
            "still land on the day they happened.",
        ),
        (rows_picture(facts.landed), "One dataset per type, each with columns of its own."),
        (
            fates_picture(facts.tally),
            "Every offset is accounted for once. The scale is logarithmic: broken records are few.",
        ),
        (
            reasons_picture(facts.reasons),
            "Broken records are kept with their raw bytes and a reason; `penstock errors list` "
            "groups them.",
        ),
    ]


def windows_picture(facts: Facts) -> str:
    """A timeline: starts, windows, the kill and the restart."""
    spans = [
        Span(
            each.name,
            each.start_s,
            each.end_s,
            f"{each.name}: {each.kind}, {each.records:,} records, "
            f"{each.start_s:.1f} s to {each.end_s:.1f} s",
            _COLOUR[each.kind],
        )
        for each in facts.periods
    ]
    marks = [Mark(facts.killed_s, "kill -9"), Mark(facts.restarted_s, "started again")]
    return timeline("Windows, and the kill", spans, marks, _GROUPS)


def heat_picture(counts: Mapping[tuple[str, str], int]) -> str:
    """Rows by type and day."""
    return heat_table("Rows by type and day", *sides(counts), counts)


def rows_picture(counts: Mapping[tuple[str, str], int]) -> str:
    """Rows by type."""
    kinds, _ = sides(counts)
    bars = [Bar(kind, sum(n for (k, _), n in counts.items() if k == kind)) for kind in kinds]
    return bar_chart("Rows by type", bars, "rows")


def fates_picture(count: Tally) -> str:
    """What became of every offset."""
    bars = [
        Bar("written", count.written, "once, in the lake", 0),
        Bar("quarantined", count.quarantined, "with raw bytes and reason", 1),
        Bar("filtered", count.filtered, "no value, by rule", 5),
        Bar("lost", len(count.lost), group=3),
        Bar("doubled", len(count.doubled), group=3),
    ]
    return bar_chart("The fate of every offset", bars, log=True)


def reasons_picture(reasons: Mapping[str, int]) -> str:
    """Why records were refused."""
    bars = [Bar(reason, number, group=1) for reason, number in reasons.items()]
    return bar_chart("Why records were quarantined", bars, "records")


def write_page(path: Path, facts: Facts) -> None:
    """Write the page, in UTF-8."""
    path.write_text(page(facts), encoding="utf-8")


def receipt_lines(receipt: Mapping[str, Any]) -> list[str]:
    """The audit's receipt in lines that fit a terminal."""
    counts = {name: f"{receipt[name]:,}" for name in _FATES}
    entries = f"{receipt['entries']:,}, epoch {receipt['epoch']}"
    return [
        f"feed       {receipt['feed']}: entries {entries}, windows {receipt['windows']}",
        f"offsets    read {counts['read']}: written {counts['written']}, "
        f"quarantined {counts['quarantined']},",
        f"           filtered {counts['filtered']}, empty {counts['empty']}, "
        f"given up {counts['given_up']}",
        f"files      {receipt['files']:,}, {receipt['size_bytes']:,} bytes",
        *_deep_lines(receipt["deep"]),
        *(f"pending    {each}" for each in receipt["pending"]),
        *(f"DIFFERENT  {each}" for each in receipt["differences"][:20]),
        f"verdict    {receipt['verdict']}",
    ]


def _deep_lines(deep: Mapping[str, Any] | None) -> list[str]:
    if deep is None:
        return []
    kafka = deep["kafka"]
    return [
        f"read       {deep['files']:,} files, {deep['rows']:,} rows, every one by its position",
        f"Kafka      {kafka['records']:,} records read again; {kafka['agreed']:,} offsets agree",
    ]


def sides(counts: Mapping[tuple[str, str], int]) -> tuple[list[str], list[str]]:
    """Types, the largest first, and days in order."""
    kinds = sorted({kind for kind, _ in counts})
    kinds.sort(key=lambda kind: -sum(n for (k, _), n in counts.items() if k == kind))
    return kinds, sorted({day for _, day in counts})
