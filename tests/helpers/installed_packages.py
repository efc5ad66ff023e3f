"""Packages as they lie on a path after they were installed: a module and its metadata."""

from collections.abc import Mapping
from pathlib import Path

from penstock.api.find import _offered

Entries = Mapping[str, Mapping[str, str]]  # group -> name -> target


def install_package(
    directory: Path, name: str, entries: Entries, modules: Mapping[str, str], version: str = "1.0"
) -> None:
    """Lay a package into a directory; whoever has it on the path has it installed."""
    info = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line
        for group, offers in entries.items()
        for line in (f"[{group}]", *(f"{key} = {target}" for key, target in offers.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, source in modules.items():
        (directory / f"{module}.py").write_text(source)
    look_for_packages_again()


def look_for_packages_again() -> None:
    """A process reads the metadata of packages once; this one has just changed them."""
    _offered.cache_clear()
