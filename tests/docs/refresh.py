"""Put the output and the pictures of a real demo into the README.

    penstock demo | tee out.txt
    python -m tests.docs.refresh out.txt penstock-demo/demo.html

Nothing is made up here: lines are left out, and `...` stands where they were.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = {"Windows, and the kill": "windows.svg", "Rows by type and day": "landed.svg"}
_SHOWN = re.compile(r"(## What the demo prints\n.*?```text\n).*?(```)", re.DOTALL)


def trimmed(out: str) -> str:
    """What the README shows of a demo's output."""
    lines = out.splitlines()

    def at(words: str) -> int:
        return next(number for number, line in enumerate(lines) if words in line)

    again, proof = at("(again)"), at("Is it all there")
    windows = [number for number in range(again, proof) if " window 2-" in lines[number]]
    kept = [
        *lines[at("a Kafka broker") : windows[0] + 1],
        "         ...",
        *lines[windows[-1] : at("counted by a client") + 1],
        "         ...",
        *lines[at("its receipt") : at("What landed") - 1],
        "",
        *lines[at(" lost, ") : at(" lost, ") + 3],
    ]
    return "\n".join(kept) + "\n"


def pictures(page: str) -> dict[str, str]:
    """The pictures of the page that the README shows, by file name."""
    found = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    named = {re.findall(r'aria-label="([^"]+)"', picture)[0]: picture for picture in found}
    return {name: named[title] + "\n" for title, name in PICTURES.items()}


def main(out: str, page: str) -> int:
    """Rewrite the README and the pictures."""
    readme = ROOT / "README.md"
    told = trimmed(Path(out).read_text(encoding="utf-8"))
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_SHOWN.sub(lambda found: f"{found[1]}{told}{found[2]}", text))
    for name, picture in pictures(Path(page).read_text(encoding="utf-8")).items():
        (ROOT / "docs" / "pictures" / name).write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
