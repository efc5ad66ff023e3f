"""How the client of GCS is made."""

import logging
from dataclasses import dataclass

from google.auth.credentials import AnonymousCredentials, Credentials
from google.cloud.storage import Bucket, Client
from google.oauth2 import service_account
from requests import Session
from requests.adapters import HTTPAdapter

from penstock.ports.store.bucket.client_of_process import ClientOfProcess
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


def gcs_clients(settings: GcsSettings) -> ClientOfProcess[GcsClient]:
    """Clients for these settings; other credentials may be found unless there are none at all."""
    return ClientOfProcess(lambda: make_client(settings), can_renew=not settings.anonymous)


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
