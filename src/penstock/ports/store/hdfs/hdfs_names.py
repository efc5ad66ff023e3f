"""Keys of a lake and paths of its file system: the one below the root of the other."""

import re

from penstock.errors import BadKey
from penstock.ports.store.keys import LONGEST_COMPONENT_BYTES, check_key

TEMPORARY = "_penstock/tmp"
LONGEST_PATH = 8000  # characters; a name node refuses longer ones
DEEPEST_PATH = 1000  # directories
# A colon cannot be in a path of HDFS, and `.snapshot` and `.reserved` are names of its own. Readers
# of listings take one line for one path. What cannot be in a name is written as this mark and four
# digits, and so is the mark itself. Nothing that Penstock names has any of them.
_MARK = "\u2426"
_UNFIT = re.compile(f"[\x00-\x1f\x7f:{_MARK}]")
_OF_HDFS = re.compile(r"\.(?=(?:snapshot|reserved)\Z)")
_ENCODED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


class Names:
    """Goes from keys below the root to paths, and back."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.longest_bytes = LONGEST_PATH - len(root) - 1

    def path(self, key: str) -> str:
        """The path of a key; raises `BadKey` for one that HDFS cannot hold, or that is swept."""
        parts = check_key(key, self.longest_bytes)
        if f"{key}/".startswith(f"{TEMPORARY}/"):
            raise BadKey(key, "this directory is for temporary files, which are swept")
        return self._joined(key, parts)

    def directory(self, prefix: str) -> str:
        """The path of the directory that a prefix means; of the root for an empty one."""
        key = prefix.removesuffix("/")
        return self._joined(key, check_key(key)) if prefix else self._root or "/"

    def temporary(self, word: str) -> str:
        """The path of a temporary file."""
        return f"{self._root}/{TEMPORARY}/{word}"

    @property
    def temporaries(self) -> str:
        """The directory of all temporary files."""
        return f"{self._root}/{TEMPORARY}"

    @property
    def parents(self) -> list[str]:
        """The directories around the root, the nearest first; the last one is empty: the top."""
        parts = self._root.split("/")[1:]
        return ["/".join(["", *parts[:depth]]).rstrip("/") for depth in range(len(parts))][::-1]

    def _joined(self, key: str, parts: tuple[str, ...]) -> str:
        encoded = [encode_name(part) for part in parts]
        for part in encoded:
            if len(part.encode()) > LONGEST_COMPONENT_BYTES:
                why = f"encoded for HDFS, a component has over {LONGEST_COMPONENT_BYTES} bytes"
                raise BadKey(key, why)
        path = "/".join([self._root, *encoded])
        if len(path) > LONGEST_PATH or path.count("/") > DEEPEST_PATH:
            why = f"HDFS takes paths of {LONGEST_PATH} characters and {DEEPEST_PATH} directories"
            raise BadKey(key, why)
        return path


def encode_name(part: str) -> str:
    """A component of a key as HDFS can hold it."""
    return _OF_HDFS.sub(_encode, _UNFIT.sub(_encode, part), count=1) if part else part


def decode_name(name: str) -> str | None:
    """The component that a name stands for; None for one that is not ours."""
    part = _ENCODED.sub(lambda found: chr(int(found[1], 16)), name)
    return part if encode_name(part) == name else None


def _encode(found: re.Match[str]) -> str:
    return f"{_MARK}{ord(found[0]):04x}"
