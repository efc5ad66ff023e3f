"""The client of a process: made when it is first needed, never before a fork, and made again when a
call got no answer.

It is Rust with threads of its own: after a fork they are missing in the child, and the client that
was inherited must not even be taken down there. So it is kept, unused.
"""

import io
import os
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from hdfs_native import Client, FileWriter, WriteOptions

from penstock.ports.store.hdfs.hdfs_keytab import principal_of
from penstock.ports.store.hdfs.hdfs_settings import HdfsSettings

_inherited: list[Client] = []


class CalmClient(Client):
    """A client whose writers ask for nothing when they are forgotten.

    Otherwise Python closes them on whichever thread lets go of them last, or collects garbage. That
    lasts 15 s for a file that lacks a block, and without end while a name node does not answer.
    """

    def create(self, path: str, write_options: WriteOptions | None = None) -> FileWriter:
        """Begin a file; its writer counts as closed for Python, and is not."""
        writer = super().create(path, write_options)
        io.RawIOBase.close(writer)
        return writer


def make_client(settings: HdfsSettings) -> Client:
    """A client with short waits. Sends nothing by itself; raises `KeytabUnusable`.

    With a keytab it has a ticket of its own, in memory, and renews it by itself. Without one it
    takes that of the process, again for each connection: whoever renews it is not our affair.
    """
    principal = settings.principal
    if settings.keytab:
        principal = principal_of(settings.keytab, principal)
    return CalmClient(
        settings.url,
        settings.client_config,
        settings.config_dir or None,
        kerberos_principal=principal or None,
        kerberos_keytab=settings.keytab or None,
    )


class HdfsClients:
    """Hands out one client per process. Safe to share between threads, and to be forked."""

    def __init__(
        self, settings: HdfsSettings, make: Callable[[HdfsSettings], Client] = make_client
    ) -> None:
        self._settings = settings
        self._make = make
        self._lock = Lock()
        self._process = 0
        self._client: Client | None = None
        self._has_waited = False

    def current(self) -> Client:
        """The client of this process."""
        if self._process != os.getpid():
            if self._client is not None:
                _inherited.append(self._client)
            # A lock that another thread held at the moment of a fork would never be released.
            self._lock, self._client, self._process = Lock(), None, os.getpid()
        with self._lock:
            if self._client is None:
                self._client = self._make(replace(self._settings, any_order=self._has_waited))
            return self._client

    def renew(self, stale: Client) -> None:
        """Let the next call begin with new connections, unless another thread has seen to it.

        They begin at any name node of a service: the first one of the site may be a host that is
        gone without a word, while another one has taken over.
        """
        with self._lock:
            if self._client is stale:
                self._client, self._has_waited = None, True
