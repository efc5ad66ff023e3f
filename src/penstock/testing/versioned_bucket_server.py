"""moto's S3 in threads of this process: for encryption and versions, which s3proxy does not have.

    with VersionedBucketServer() as server:
        server.make_bucket("lakes", versioned=True)
        ...server.settings...

Its races are not those of S3: two conditional completes at once both succeed. So nothing about
concurrency is shown with it, and the probe refuses it. It takes any credentials.
"""

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Self

import boto3
from botocore.config import Config
from moto.server import ThreadedMotoServer

from penstock.testing.servers import LOOPBACK

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

ACCESS_KEY = "penstock-tests"
SECRET_KEY = "not-a-secret-of-anybody"  # noqa: S105  -- nobody checks it
REGION = "us-east-1"


class VersionedBucketServer:
    """One server. Its buckets are in memory and shared by all servers of a process."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer(ip_address=LOOPBACK, port=0, verbose=False)

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        host, port = self._server.get_host_and_port()
        return f"http://{host}:{port}"

    @property
    def settings(self) -> dict[str, str]:
        """What `store:` of a configuration needs, apart from credentials."""
        return {"endpoint": self.endpoint, "region": REGION, "path_style": "true"}

    def client(self) -> "S3Client":
        """A client of an owner of buckets."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(s3={"addressing_style": "path"}),
        )

    def make_bucket(self, name: str, *, versioned: bool = False) -> None:
        """Create an empty bucket."""
        client = self.client()
        client.create_bucket(Bucket=name)
        if versioned:
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})

    def __enter__(self) -> Self:
        logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line for each request
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()
