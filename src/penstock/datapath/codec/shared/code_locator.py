"""Where Numba keeps the code of one function: by its module's name, wherever the module lies.

Numba itself goes by the path of the source. Executors of a cluster import this package from an
archive in a directory that is new for each of them, so they would never find what was compiled
before. Numba imports the class by its name, and calls it for every function that it may keep.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

from penstock.datapath.codec.shared.code_cache import PACKAGE, code_place

OURS = f"{__name__}.CodeLocator"
# How Numba looks for functions of other packages, by its own names.
NUMBAS_OWN = (
    "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,"
    "IPythonCacheLocator,ZipCacheLocator"
)


class CodeLocator:
    """What Numba asks for one function. The place has the hash of all code in its name."""

    def __init__(self, function: Callable[..., object], file: str, place: Path) -> None:
        self._py_file = file  # Numba names it in warnings
        self._line = function.__code__.co_firstlineno
        self._directory = place / function.__module__
        self._stamp = place.name

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> Self | None:
        """The locator of one of our functions; None for all others, and without a place."""
        place = code_place()
        if place is None or not function.__module__.startswith(f"{PACKAGE}."):
            return None
        return cls(function, file, place)

    def ensure_cache_path(self) -> None:
        """Make the directory; raises `OSError` if nothing can be written there."""
        self._directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=self._directory).close()

    def get_cache_path(self) -> str:
        """The directory of the function's module."""
        return str(self._directory)

    def get_source_stamp(self) -> str:
        """What the code was compiled from: of another version nothing is found in this place."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Tells functions of one name in one module apart."""
        return str(self._line)
