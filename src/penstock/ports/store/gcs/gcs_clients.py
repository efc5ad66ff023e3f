"""The client of a process: made when it is first needed, never before a fork, and made again when
its credentials are refused."""

import logging
import os
from dataclasses import dataclass
from threading import Lock

from google.auth.credentials import AnonymousCredentials, Credentials
from google.cloud.storage import Bucket, Client
from google.oauth2 import service_account
from requests import Session
from requests.adapters import HTTPAdapter

from penstock.ports.store.gcs.gcs_settings import GcsSettings

CONNECTIONS = 40  # more than threads use at once, so that none waits for a connection
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


@dataclass(frozen=True, slots=True)
class GcsClient:
    """The library's view of the bucket, and the session with which it asks, for pieces of uploads.

    Nothing is repeated by itself, but for a request whose token had expired.
    """

    client: Client
    bucket: Bucket
    session: Session
    timeout_s: tuple[float, float]

    @property
    def options(self) -> dict[str, object]:
        """What every call of the library is given: our time limits, and none of its own retries."""
        return {"timeout": self.timeout_s, "retry": None}


class GcsClients:
    """Hands out one client per process. Safe to share between threads, and to be forked."""

    def __init__(self, settings: GcsSettings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._process = 0
        self._client: GcsClient | None = None

    @property
    def can_renew(self) -> bool:
        """True when other credentials may be found."""
        return not self._settings.anonymous

    def current(self) -> GcsClient:
        """The client of this process."""
        if self._process != os.getpid():
            # A lock that another thread held at the moment of a fork would never be released.
            self._lock, self._client, self._process = Lock(), None, os.getpid()
        with self._lock:
            if self._client is None:
                self._client = make_client(self._settings)
            return self._client

    def renew(self, stale: GcsClient) -> None:
        """Let the chain look for credentials again, unless another thread has done so."""
        with self._lock:
            if self._client is stale:
                self._client = make_client(self._settings)


def make_client(settings: GcsSettings) -> GcsClient:
    """A client with a session of its own. Sends nothing by itself and repeats nothing by itself."""
    # Their debug messages contain tokens, and the addresses of uploads, which need no token.
    for name in ("google", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
    client = Client(
        project=settings.project or None,
        credentials=_credentials(settings),
        client_options={"api_endpoint": settings.endpoint} if settings.endpoint else None,
    )
    # It would ask for the bucket on threads of its own, after each object that is not there.
    client._bucket_metadata_cache = None
    session: Session = client._http
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(pool_connections=2, pool_maxsize=CONNECTIONS))
    if settings.ca:
        session.verify = settings.ca
    bucket = client.bucket(settings.bucket, user_project=settings.user_project or None)
    return GcsClient(client, bucket, session, settings.timeout_s)


def _credentials(settings: GcsSettings) -> Credentials | None:
    """Those of the settings; None lets the client look by the usual chain."""
    if settings.anonymous:
        return AnonymousCredentials()
    if settings.credentials_file:
        return service_account.Credentials.from_service_account_file(
            settings.credentials_file, scopes=[SCOPE]
        )
    return None
