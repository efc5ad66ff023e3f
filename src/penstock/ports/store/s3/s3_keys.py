"""Which characters the keys of S3 cannot have.

Answers of S3 are XML, which cannot hold control characters.
"""

import re

from penstock.ports.store.prefixed_keys import MARK, PrefixedKeys

_UNFIT = re.compile(f"[\x00-\x1f\x7f\ufffe\uffff{MARK}]")


class Keys(PrefixedKeys):
    """Goes from keys below the root to whole keys of S3, and back."""

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix, _UNFIT)
