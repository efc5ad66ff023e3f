"""Links of every page lead somewhere, and the tests that the pages name exist."""

import re
from pathlib import Path

from penstock.api.store import Store

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
SCHEDULES = [
    ROOT / "tests" / "simulator" / f"{name}schedules.py" for name in ("", "seal_", "final_")
]


def anchors(page: Path) -> set[str]:
    """The headings of a page as links spell them."""
    headings = re.findall(r"^#{1,4} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere; addresses of the web are not followed."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page if not path else page.parent / path
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{page.name}: {link}")
    return broken


def defined_names() -> set[str]:
    """Every test function, those of the shipped contract suite included."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "src/penstock/testing").rglob("*.py")]
    return {n for f in files for n in re.findall(r"def (test_\w+)", f.read_text(encoding="utf-8"))}


def test_every_link_of_every_page_leads_somewhere() -> None:
    assert [link for page in PAGES for link in broken_links(page)] == []


def test_every_test_that_a_page_names_exists() -> None:
    named = {
        name
        for page in PAGES
        for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    assert named - defined_names() == set()


def test_every_schedule_that_the_guarantees_name_exists() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    cells = re.findall(r"schedules? ((?:`\w+`(?:, )?)+)", page)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    read = "".join(file.read_text(encoding="utf-8") for file in SCHEDULES)
    known = set(re.findall(r"^def (\w+)", read, re.MULTILINE))
    assert len(named) > 5
    assert named - known == set()


def test_the_protocol_page_names_every_call_of_the_store() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    listed = page.split("The protocol (`api/store.py`)")[1].split("A **handle**")[0]
    calls = {name for name in vars(Store) if not name.startswith("_")} - {"kind"}
    assert set(re.findall(r"`(\w+)`", listed)) == calls


def test_a_link_to_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](#here) [b](gone.md) [c](page.md#there)\n")
    assert broken_links(page) == ["page.md: gone.md", "page.md: page.md#there"]
