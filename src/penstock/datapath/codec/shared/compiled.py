"""Loops over bytes, compiled to machine code by Numba. Executor, mostly.

A function is compiled when it is first called with arguments of some types, which takes seconds,
and is kept in a directory of the user. Numba itself only notices changes of the file in which a
function is defined, and not of functions that were compiled into it. So the directory has the hash
of all files of this room in its name, and a new version never finds code of an older one.
"""

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba

from penstock.config.places import cache_directory

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_ROOM = Path(__file__).parents[1]


def compiled(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function of numbers and arrays; what it does must be in Numba's subset of Python.

    It makes no arrays of its own: nobody counts references to arrays, since counting them in every
    step of a loop takes longer than the steps.
    Integers wrap around and arrays are not checked for their bounds, as in C: every index has to
    be proven by the code around it.
    """
    return _made(function, is_inlined=False)


def inlined(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The same for a part of such a function, which becomes part of its code wherever it is called.

    A call hands over all numbers of every array, so it takes longer than many a step in a loop.
    """
    return _made(function, is_inlined=True)


def _made(
    function: Callable[_Parameters, _Result], *, is_inlined: bool
) -> Callable[_Parameters, _Result]:
    made: Callable[_Parameters, _Result] = numba.njit(
        cache=_use_cache(),
        nogil=True,
        error_model="numpy",
        boundscheck=False,
        forceinline=is_inlined,
        _nrt=False,
    )(function)
    return made


@cache
def _use_cache() -> bool:
    """Tell Numba where to keep compiled code; False if there is no place that can be written."""
    place = cache_directory() / "compiled" / _version()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    numba.config.CACHE_DIR = str(place)  # type: ignore[attr-defined]
    return True


def _version() -> str:
    """The hash of all code of this room, and of the compiler."""
    digest = hashlib.sha256(f"numba {numba.__version__}".encode())
    for path in sorted(_ROOM.rglob("*.py")):
        digest.update(path.relative_to(_ROOM).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
