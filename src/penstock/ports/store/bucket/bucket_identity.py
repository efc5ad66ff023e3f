"""What tells our own files from others: custom metadata of an object.

A copy or a restored backup may have lost it; then the file is read.
"""

from penstock.model.staged import StagedHandle
from penstock.ports.store.bucket.bucket_objects import ObjectFacts

WINDOW = "penstock-window"
ATTEMPT = "penstock-attempt"
CHECKSUM = "penstock-checksum"


def says_ours(facts: ObjectFacts, handle: StagedHandle) -> bool | None:
    """Whether an object is the file of a handle; None when only reading it can tell.

    Any attempt that wrote these bytes is ours: the rows are the same.
    """
    if facts.size_bytes != handle.size_bytes:
        return False
    found = facts.metadata.get(CHECKSUM)
    return None if found is None else found == handle.checksum
