"""The tables of reasons, of events and of alerts name what the code has, and nothing else."""

import re

from tests.docs.run_events import PACKAGE, ROOT, events_in_code, first_cells
from tests.docs.shell import OPERATE

REASONS = ROOT / "docs" / "reasons.md"
_REASON = re.compile(r'^([A-Z][A-Z0-9_]+) = "([A-Z0-9_]+)"', re.MULTILINE)


def reasons_in_code() -> set[str]:
    """Every code of a quarantined record: a constant that holds its own name."""
    files = [*(PACKAGE / "datapath").rglob("*.py"), PACKAGE / "model" / "schema_merging.py"]
    found = (pair for file in files for pair in _REASON.findall(file.read_text(encoding="utf-8")))
    return {name for name, value in found if name == value}


def test_the_page_has_every_reason_and_no_other() -> None:
    found = reasons_in_code()
    assert {"NOT_JSON", "TIME_UNREADABLE", "ROUTE_UNKNOWN", "SCHEMA_INCOMPATIBLE"} <= found
    assert first_cells(REASONS.read_text(encoding="utf-8")) == found


def test_the_page_has_every_event_and_no_other() -> None:
    found = events_in_code()
    assert {"window", "halted", "stopped", "dataset_stopped", "stopping"} <= found
    assert first_cells(OPERATE.read_text(encoding="utf-8").partition("\n## Events\n")[2]) == found


def test_the_page_has_every_alert_and_no_other() -> None:
    alerts = re.findall(
        r"- alert: (\w+)", (ROOT / "deploy/prometheus/penstock.rules.yml").read_text()
    )
    page = OPERATE.read_text(encoding="utf-8").partition("\n## Events\n")[0]
    shown = [name for name in first_cells(page) if name.startswith("Penstock")]
    assert sorted(shown) == sorted(alerts)
    assert len(alerts) == 10
