"""What the README and the page about Python show is what happens."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PICTURES = ROOT / "docs" / "pictures"
LONGEST = 140


def test_the_python_example_prints_what_the_page_says() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    [(code, printed)] = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == printed


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link.split("#")[0]).exists()] == []


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(README.read_text().splitlines()) <= LONGEST


def test_the_pictures_are_whole_and_used() -> None:
    pages = "".join(page.read_text() for page in [README, *(ROOT / "docs").glob("*.md")])
    for picture in PICTURES.glob("*.svg"):
        ElementTree.fromstring(picture.read_text(encoding="utf-8"))
        assert f"pictures/{picture.name}" in pages
