"""What a staged object on GCS says about itself, and the final one, and the proof in a handle."""

import hashlib
from collections.abc import Mapping
from urllib.parse import quote

from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.window_cost import REQUESTS
from penstock.ports.store.bucket.bucket_identity import ATTEMPT, CHECKSUM, WINDOW

FINAL = "penstock-final"

GENERATION = "generation"  # the key of a proof
SUFFIX = ".staged"
_TO_PUBLISH = 2  # to rewrite and to look; to delete costs nothing


def metadata_of(spot: StagingSpot, final: str, checksum: str) -> dict[str, str]:
    """What a staged object is created with; a hash of the final name, which may be long."""
    return {
        WINDOW: quote(spot.window),
        ATTEMPT: quote(spot.attempt),
        FINAL: hashlib.sha256(final.encode()).hexdigest(),
        CHECKSUM: checksum,
    }


def metadata_of_final(handle: StagedHandle) -> dict[str, str]:
    """What the final object says: what all attempts at a file have in common."""
    return {CHECKSUM: handle.checksum}


def staged_key(spot: StagingSpot) -> str:
    """Where an attempt stages its file."""
    return f"{spot.prefix}/{spot.window}/{spot.attempt}{SUFFIX}"


def proof_of(generation: str, sent: int) -> dict[str, str]:
    """What a handle needs to publish a staged object: which one it is, and what it costs."""
    return {GENERATION: generation, REQUESTS: str(sent + _TO_PUBLISH)}


def generation_in(proof: Mapping[str, str]) -> str | None:
    """The generation of the staged object; None where the proof does not name one."""
    found = proof.get(GENERATION, "")
    return found if found.isdecimal() else None
