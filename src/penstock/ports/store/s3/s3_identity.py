"""What tells our own files from others: written into an upload when it begins, and into its handle.

An upload takes its metadata when it is created, and the object that it becomes has them. A file is
sent when all of it is written, so its checksum is known by then.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from penstock.model.staged import StagingSpot
from penstock.model.window_cost import REQUESTS
from penstock.ports.store.bucket.bucket_identity import ATTEMPT, CHECKSUM, WINDOW

UPLOAD = "upload"  # the keys of a proof
KEY = "key"
PARTS = "parts"
_SEPARATOR = ","


def metadata_of(spot: StagingSpot, checksum: str) -> dict[str, str]:
    """What an upload is created with; only ASCII can be part of a header."""
    return {WINDOW: quote(spot.window), ATTEMPT: quote(spot.attempt), CHECKSUM: checksum}


def proof_of(key: str, upload: str, tags: Sequence[str]) -> dict[str, str]:
    """What a handle needs to complete an upload: its id, and the tag of each part in order.

    With what the file costs: requests to begin the upload, for each part, and to complete it.
    """
    parts = _SEPARATOR.join(tag.strip('"') for tag in tags)
    return {KEY: key, UPLOAD: upload, PARTS: parts, REQUESTS: str(len(tags) + 2)}


def tags_in(proof: Mapping[str, str]) -> list[str]:
    """The tags of all parts, as requests want them."""
    return [f'"{tag}"' for tag in proof.get(PARTS, "").split(_SEPARATOR)]
