"""Removing temporary files of writers that died between writing and renaming."""

import secrets
from contextlib import suppress

from hdfs_native import Client, FileStatus, WriteOptions

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.hdfs.hdfs_calls import Calls
from penstock.ports.store.hdfs.hdfs_files import HdfsFiles
from penstock.ports.store.hdfs.hdfs_listing import PATIENCE
from penstock.ports.store.hdfs.hdfs_names import TEMPORARY, Names

LEFTOVER_AGE_S = 3600.0


def sweep_leftovers(calls: Calls, files: HdfsFiles, names: Names) -> int:
    """Remove what is older than an hour; how many.

    Ages are taken from a file that is made now, so that a clock of ours that runs ahead of the name
    node's takes nothing from a writer that lives. A file that is open still has one, or had: its
    lease is no hindrance, because it is deleted and not written to.
    """
    found = _temporaries(calls, names)
    if not found:
        return 0
    now_ms = _now_ms(calls, names)
    removed = 0
    for status in found:
        is_old = status.modification_time < now_ms - LEFTOVER_AGE_S * 1000
        if is_old and not status.isdir:
            with suppress(StoreUnavailable, OutcomeUnknown):
                files.delete("sweep", TEMPORARY, status.path)
                removed += 1
    return removed


def _temporaries(calls: Calls, names: Names) -> list[FileStatus]:
    def read(client: Client) -> list[FileStatus]:
        return list(client.list_status(names.temporaries))

    return calls.unless_absent("sweep", TEMPORARY, read, patience=PATIENCE) or []


def _now_ms(calls: Calls, names: Names) -> int:
    """The name node's clock, from an empty file that is removed again."""
    path = names.temporary(f"now-{secrets.token_hex(16)}")

    def make(client: Client) -> int:
        client.create(path, WriteOptions(overwrite=True, create_parent=True)).close()
        return int(client.get_file_info(path).modification_time)

    now_ms = calls.send("sweep", TEMPORARY, make)
    calls.unless_absent("sweep", TEMPORARY, lambda client: client.delete(path), changes=True)
    return now_ms
