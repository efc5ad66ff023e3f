"""Loops over bytes, compiled to machine code by Numba. Executor, mostly.

A function is compiled when it is first called with arguments of some types, which takes seconds,
and is kept in a directory of the user (`code_cache`), where a new version never finds code of an
older one.
"""

from collections.abc import Callable
from functools import cache
from typing import ParamSpec, TypeVar

import numba

from penstock.datapath.codec.shared.code_cache import code_place
from penstock.datapath.codec.shared.code_locator import NUMBAS_OWN, OURS

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def compiled(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function of numbers and arrays; what it does must be in Numba's subset of Python.

    Integers wrap around and arrays are not checked for their bounds, as in C: every index has to
    be proven by the code around it. No array may be made: references to arrays are not counted,
    since that takes longer than the steps of a loop between which they are counted.
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
    made: Callable[_Parameters, _Result] = numba.njit(  # type: ignore[call-overload]
        cache=_use_cache(),
        nogil=True,
        error_model="numpy",
        boundscheck=False,
        forceinline=is_inlined,
        _nrt=False,  # of Numba's own names for options; its stubs do not have it
    )(function)
    return made


@cache
def _use_cache() -> bool:
    """Tell Numba where to keep compiled code; False if there is no place that can be written."""
    if code_place() is None:
        return False
    # What others have chosen for their own functions stays behind ours.
    others = numba.config.CACHE_LOCATOR_CLASSES or NUMBAS_OWN  # type: ignore[attr-defined]
    numba.config.CACHE_LOCATOR_CLASSES = f"{OURS},{others}"  # type: ignore[attr-defined]
    return True
