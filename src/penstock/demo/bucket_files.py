"""A prefix of a bucket as pyarrow's own client of S3 reads it. Imported only where there is one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
from pyarrow.fs import FileSystem, S3FileSystem

from penstock.demo.folders import Folder

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

_AWS = ".amazonaws.com"


def bucket_folder(uri: str, settings: Mapping[str, str]) -> Folder:
    """A prefix of a bucket, by its `s3://` address and the settings of its store."""
    return Folder(_s3(settings), uri.removeprefix("s3://"))


def _s3(settings: Mapping[str, str]) -> FileSystem:
    """pyarrow's own client. Its chain is shorter than that of AWS, so that one finds the keys."""

    session = boto3.Session(
        aws_access_key_id=settings.get("access_key"),
        aws_secret_access_key=settings.get("secret_key"),
        aws_session_token=settings.get("session_token"),
        profile_name=settings.get("profile"),
        region_name=settings.get("region"),
    )
    region = session.region_name or "us-east-1"
    endpoint = settings.get("endpoint")
    client = session.client("s3", region_name=region, endpoint_url=endpoint)
    keys = session.get_credentials()
    return S3FileSystem(
        region=region,
        tls_ca_file_path=settings.get("ca"),
        **_place(client.meta.endpoint_url),
        **({} if keys is None else _keys(keys.get_frozen_credentials())),
    )


def _place(endpoint: str) -> dict[str, str]:
    parts = urlsplit(endpoint)
    if (parts.hostname or "").endswith(_AWS):
        return {}
    return {"scheme": parts.scheme, "endpoint_override": f"{parts.netloc}{parts.path}"}


def _keys(found: "ReadOnlyCredentials") -> dict[str, str | None]:
    return {
        "access_key": found.access_key,
        "secret_key": found.secret_key,
        "session_token": found.token,
    }
