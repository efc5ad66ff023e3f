"""Whether a file that a page or a docstring names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASES = (ROOT, ROOT / "src" / "penstock")


def is_there(name: str, bases: tuple[Path, ...] = BASES) -> bool:
    """Whether something has this name, from the root or from the package on."""
    pattern = re.sub(r"<[\w-]+>", "*", name).rstrip("/")
    if "/" in pattern:
        return any(any(base.glob(pattern)) for base in bases)
    return any(any(base.glob(pattern)) for base in bases) or any(
        any(base.rglob(pattern)) for base in (bases[-1], bases[0] / "tests", bases[0] / "docs")
    )
