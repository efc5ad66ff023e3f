"""The requests that each verb of a store sends to S3, and a client that is not ours."""

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from penstock.testing.object_store_server import EmbeddedObjectStore
from tests.helpers.store_verbs import verbs_of

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

UPLOAD = ("CreateMultipartUpload", "UploadPart")
VERBS = verbs_of(
    {
        "create": ("PutObject",),
        "replace_tagged": ("PutObject",),
        "stage": UPLOAD,
        "publish": ("CompleteMultipartUpload", "HeadObject"),
        "publish_all": ("CompleteMultipartUpload", "HeadObject"),
        "discard": ("AbortMultipartUpload", "ListParts"),
        "delete": ("DeleteObject",),
        "delete_all": ("DeleteObjects",),
        "look": ("ListParts", "HeadObject"),
        "list_objects": ("ListObjectsV2",),
        "list_staged": ("ListMultipartUploads",),
        "open_read": ("GetObject",),
        "read": ("GetObject",),
        "head": ("HeadObject",),
    }
)


def boto_client(server: EmbeddedObjectStore) -> "S3Client":
    """A client that does what a bucket's owner does behind the back of Penstock."""
    settings = server.settings
    return boto3.client(
        "s3",
        endpoint_url=settings["endpoint"],
        region_name=settings["region"],
        aws_access_key_id=settings["access_key"],
        aws_secret_access_key=settings["secret_key"],
        config=Config(s3={"addressing_style": "path"}),
    )
