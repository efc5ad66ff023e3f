"""The only way to a store: whatever kind it is, its spec says how it is opened."""

import os
from functools import lru_cache
from pathlib import Path

import msgspec

from penstock.api.doors import STORES
from penstock.api.find import make, offer
from penstock.api.store import Store
from penstock.model.store_spec import LOCAL, StoreSpec

_store_spec_decoder = msgspec.msgpack.Decoder(StoreSpec)


def open_store(spec: StoreSpec) -> Store:
    """Open a store. Driver and executors; raises `ExtraMissing` or `PluginBroken`."""
    return make(STORES, spec.opener, spec)


def reopen_store(spec: StoreSpec) -> Store:
    """The store of a spec that has travelled, opened once per process. Executors.

    What a store pickles as: `return reopen_store, (spec,)`. A process that was forked opens it
    again, because a connection cannot be shared between two processes.
    """
    return _opened(os.getpid(), msgspec.msgpack.encode(spec))


def local_spec(directory: str | Path) -> StoreSpec:
    """The spec of a lake in a directory of this machine. Driver only."""
    return StoreSpec(LOCAL, str(directory), offer(STORES, LOCAL))


@lru_cache(maxsize=8)
def _opened(_process: int, encoded: bytes) -> Store:
    return open_store(_store_spec_decoder.decode(encoded))
