"""Keys of a lake and keys of its bucket: the one below the prefix of the other.

What a bucket cannot hold is written as a mark and four digits for each character, and so is the
mark itself. Nothing that Penstock names has any of them.
"""

import re

from penstock.errors import BadKey
from penstock.ports.store.keys import check_key

LONGEST_KEY_BYTES = 1024  # of S3 and of GCS
MARK = "\u2426"
_ENCODED = re.compile(f"{MARK}([0-9a-f]{{4}})")


class PrefixedKeys:
    """Goes from keys below the root to whole keys, and back."""

    def __init__(self, prefix: str, unfit: re.Pattern[str]) -> None:
        self._unfit = unfit
        self._root = f"{prefix}/" if prefix else ""
        self.longest_bytes = LONGEST_KEY_BYTES - len(self._root.encode())

    def whole(self, key: str) -> str:
        """The key in the bucket; raises `BadKey` for one that the bucket cannot hold."""
        check_key(key, self.longest_bytes)
        encoded = self._unfit.sub(_encode, key)
        if encoded != key and len(encoded.encode()) > self.longest_bytes:
            why = f"with its control characters encoded it has over {self.longest_bytes} bytes"
            raise BadKey(key, why)
        return f"{self._root}{encoded}"

    def base(self, prefix: str) -> str:
        """The beginning of all whole keys below a directory."""
        return f"{self.whole(prefix.removesuffix('/'))}/" if prefix else self._root

    def after(self, key: str) -> str:
        """The whole key after which a listing begins; it need not be one that exists."""
        return f"{self._root}{self._unfit.sub(_encode, key)}" if key else ""

    def relative(self, whole: str) -> str | None:
        """The key below the root; None for one that no lake has, such as the mark of a folder."""
        key = _ENCODED.sub(lambda found: chr(int(found[1], 16)), whole.removeprefix(self._root))
        try:
            is_ours = self.whole(key) == whole
        except BadKey:
            return None
        return key if is_ours else None


def _encode(found: re.Match[str]) -> str:
    return f"{MARK}{ord(found[0]):04x}"
