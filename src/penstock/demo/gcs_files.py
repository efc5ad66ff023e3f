"""A prefix of a bucket as pyarrow's client of GCS reads it. Imported only where there is one."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from google.auth.transport.requests import Request
from google.oauth2 import service_account
from pyarrow.fs import FileSystem, GcsFileSystem

from penstock.demo.folders import Folder

TRIES = timedelta(seconds=60)  # no signal ends one of them
_SCOPES = ["https://www.googleapis.com/auth/devstorage.read_only"]


def gcs_folder(uri: str, settings: Mapping[str, str]) -> Folder:
    """A prefix of a bucket, by its `gs://` address and the settings of its store."""
    return Folder(_gcs(settings), uri.removeprefix("gs://"))


def _gcs(settings: Mapping[str, str]) -> FileSystem:
    """pyarrow's own client. It finds credentials by the usual chain, but takes no key file."""
    if settings.get("anonymous", "").lower() in ("true", "yes"):
        return GcsFileSystem(anonymous=True, **_place(settings))
    if "credentials_file" not in settings:
        return GcsFileSystem(**_place(settings))
    keys = service_account.Credentials.from_service_account_file(
        settings["credentials_file"], scopes=_SCOPES
    )
    keys.refresh(Request())
    return GcsFileSystem(
        access_token=keys.token, credential_token_expiration=keys.expiry, **_place(settings)
    )


def _place(settings: Mapping[str, str]) -> dict[str, Any]:
    """The address; and an end of its tries, which would last a quarter of an hour."""
    endpoint = settings.get("endpoint", "")
    if not endpoint:
        return {"retry_time_limit": TRIES}
    parts = urlsplit(endpoint)
    return {
        "scheme": parts.scheme,
        "endpoint_override": parts.netloc,
        "retry_time_limit": TRIES,
    }
