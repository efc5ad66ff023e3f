"""Plug-ins with their options, made once per process."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, cast

import msgspec

from penstock.api.errors import PluginBroken
from penstock.api.find import STOPS, Door, make, offer, said
from penstock.model.plugin import PluginRef
from penstock.model.plugin_call import PluginCall

_plugin_call_decoder = msgspec.json.Decoder(PluginCall)

T = TypeVar("T")


def made(door: Door[Callable[..., T]], call: PluginCall) -> T:
    """What a call names, made with its options. Driver and executors.

    On an executor the call has a `ref`, so that nothing is looked up there. Raises a `PluginError`.
    """
    return cast("T", _made(door, call.key))


def asked_fields(door: Door[Callable[..., object]], call: PluginCall) -> tuple[str, ...]:
    """The paths of the fields that a plug-in wants to see. Raises a `PluginError`."""
    ref = call.ref or offer(door, call.name)
    thing = made(door, call)
    try:
        fields = getattr(thing, "fields", ())
        paths = None if isinstance(fields, str | bytes) else tuple(fields)
    except STOPS:
        raise
    except BaseException as error:
        raise PluginBroken(ref, said(error)) from error
    if paths is None or not all(_is_path(path) for path in paths):
        raise PluginBroken(ref, "its `fields` are not a list of paths such as user.country")
    return paths


@lru_cache(maxsize=256)
def _made(door: Door[Callable[..., object]], encoded: bytes) -> object:
    call = _plugin_call_decoder.decode(encoded)
    ref: PluginRef = call.ref or offer(door, call.name)
    return make(door, ref, **dict(call.options))


def _is_path(path: object) -> bool:
    return isinstance(path, str) and all(part.strip() for part in path.split("."))
