"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_python_example_prints_what_the_readme_says() -> None:
    text = README.read_text()
    [(code, printed)] = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == printed


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
