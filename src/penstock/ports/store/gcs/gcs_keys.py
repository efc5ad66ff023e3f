"""Which names the objects of GCS cannot have.

No CR or LF, and nothing in the folder that certificates are proven by. Further control characters
are taken, but the XML API, by which some readers ask, cannot show them.
"""

import re

from penstock.ports.store.prefixed_keys import MARK, PrefixedKeys

_UNFIT = re.compile(
    f"[\x00-\x1f\x7f-\x9f\ufffe\uffff{MARK}]|^\\.(?=well-known/acme-challenge(?:/|$))"
)


class GcsKeys(PrefixedKeys):
    """Goes from keys below the root to whole names in the bucket, and back."""

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix, _UNFIT)
