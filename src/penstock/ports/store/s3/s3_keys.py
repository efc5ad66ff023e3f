"""Keys of a lake and keys of its bucket: the one below the prefix of the other."""

import re

from penstock.errors import BadKey
from penstock.ports.store.keys import check_key

LONGEST_KEY_BYTES = 1024
# Answers of S3 are XML, which cannot hold control characters. They are written as this mark and
# four digits, and so is the mark itself. Nothing that Penstock names has any of them.
_MARK = "\u2426"
_UNFIT = re.compile(f"[\x00-\x1f\x7f\ufffe\uffff{_MARK}]")
_ENCODED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


class Keys:
    """Goes from keys below the root to whole keys, and back."""

    def __init__(self, prefix: str) -> None:
        self._root = f"{prefix}/" if prefix else ""
        self.longest_bytes = LONGEST_KEY_BYTES - len(self._root.encode())

    def whole(self, key: str) -> str:
        """The key in the bucket; raises `BadKey` for one that S3 cannot hold."""
        check_key(key, self.longest_bytes)
        encoded = _UNFIT.sub(_encode, key)
        if encoded != key and len(encoded.encode()) > self.longest_bytes:
            why = f"with its control characters encoded it has over {self.longest_bytes} bytes"
            raise BadKey(key, why)
        return f"{self._root}{encoded}"

    def base(self, prefix: str) -> str:
        """The beginning of all whole keys below a directory."""
        return f"{self.whole(prefix.removesuffix('/'))}/" if prefix else self._root

    def after(self, key: str) -> str:
        """The whole key after which a listing begins; it need not be one that exists."""
        return f"{self._root}{_UNFIT.sub(_encode, key)}" if key else ""

    def relative(self, whole: str) -> str | None:
        """The key below the root; None for one that no lake has, such as the mark of a folder."""
        key = _ENCODED.sub(lambda found: chr(int(found[1], 16)), whole.removeprefix(self._root))
        try:
            is_ours = self.whole(key) == whole
        except BadKey:
            return None
        return key if is_ours else None


def _encode(found: re.Match[str]) -> str:
    return f"{_MARK}{ord(found[0]):04x}"
