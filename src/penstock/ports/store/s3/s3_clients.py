"""How the client of S3 is made."""

import logging
from typing import TYPE_CHECKING

import boto3
import botocore
from botocore.config import Config
from botocore.loaders import create_loader
from botocore.session import get_session

from penstock import __version__
from penstock.ports.store.bucket.client_of_process import ClientOfProcess
from penstock.ports.store.s3.s3_settings import S3Settings

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

CONNECTIONS = 40  # more than threads use at once, so that none waits for a connection
_MODELS = create_loader()  # keeps what it has parsed, so that a renewed client costs 10 ms, not 100
USER_AGENT = f"penstock/{__version__} botocore/{botocore.__version__}"
_ANYWHERE = "us-east-1"  # signs requests where neither the settings nor the chain name a region


def s3_clients(settings: S3Settings) -> "ClientOfProcess[S3Client]":
    """Clients for these settings; the keys of settings never change, those of the chain do."""
    return ClientOfProcess(lambda: make_client(settings), can_renew=not settings.access_key)


def make_client(settings: S3Settings) -> "S3Client":
    """A client with a session of its own. Sends nothing by itself and repeats nothing by itself."""
    # Its debug messages contain signed headers, the session token among them.
    logging.getLogger("botocore").setLevel(logging.WARNING)
    chain = get_session()
    chain.register_component("data_loader", _MODELS)
    session = boto3.Session(
        botocore_session=chain,
        aws_access_key_id=settings.access_key or None,
        aws_secret_access_key=settings.secret_key or None,
        aws_session_token=settings.session_token or None,
        profile_name=settings.profile or None,
        region_name=settings.region or None,
    )
    return session.client(
        "s3",
        endpoint_url=settings.endpoint or None,
        region_name=session.region_name or _ANYWHERE,
        verify=settings.ca or None,
        config=Config(
            connect_timeout=settings.connect_timeout_s,
            read_timeout=settings.read_timeout_s,
            max_pool_connections=CONNECTIONS,
            retries={"total_max_attempts": 1, "mode": "standard"},
            # Checksums of newer clients are unknown to many stores; requests carry an MD5 instead.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path" if settings.path_style else "auto"},
            # Given whole, it is not put together again for each request: a sixth of what one costs.
            user_agent=USER_AGENT,
            parameter_validation=False,  # all parameters are made here, by typed code
        ),
    )
