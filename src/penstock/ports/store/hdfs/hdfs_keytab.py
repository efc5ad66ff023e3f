"""What a keytab holds.

It is read here because MIT's library says of one that is unfit only that there is no ticket.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

_VERSION = b"\x05\x02"
_ESCAPED = str.maketrans({"/": r"\/", "@": r"\@", "\\": r"\\"})
_MOST_NAMED = 5


class KeytabUnusable(Exception):
    """A keytab that cannot be read, or is not for the wanted principal. Says so, and what to do."""


def principal_of(keytab: str, wanted: str) -> str:
    """The principal to log in as: the wanted one, or the only one that has keys in this file.

    Raises `KeytabUnusable`. Nobody is asked: whether the keys are still right, the key server says.
    """
    found = _principals(keytab)
    if not wanted and len(found) == 1:
        return found[0]
    fit = [each for each in found if wanted in (each, each.rpartition("@")[0])]
    if wanted and fit:
        return wanted
    several = ", ".join(found[:_MOST_NAMED]) + (", ..." if len(found) > _MOST_NAMED else "")
    if not found:
        raise KeytabUnusable(f"the keytab {keytab!r} holds no keys; export it again")
    if wanted:
        why = f"the keytab {keytab!r} has no keys of {wanted!r}, but of {several}"
        raise KeytabUnusable(f"{why}; correct `principal` or `keytab` below `store`")
    why = f"the keytab {keytab!r} holds keys of {several}"
    raise KeytabUnusable(f"{why}; choose one by `principal` below `store`")


def _principals(keytab: str) -> list[str]:
    try:
        data = Path(keytab).read_bytes()
    except OSError as error:
        why = f"the keytab {keytab!r} cannot be read on this host ({error.strerror})"
        raise KeytabUnusable(f"{why}; every host of the job needs it in this place") from error
    if data[:2] != _VERSION:
        raise KeytabUnusable(f"{keytab!r} is not a keytab; correct `keytab` below `store`")
    try:
        return sorted({_principal(entry) for entry in _entries(data)})
    except (struct.error, UnicodeDecodeError) as error:
        raise KeytabUnusable(f"the keytab {keytab!r} is damaged; export it again") from error


def _entries(data: bytes) -> Iterator[bytes]:
    """The entries, without the holes that deleted ones have left."""
    at = len(_VERSION)
    while at < len(data):
        (size_bytes,) = struct.unpack_from(">i", data, at)
        at += 4
        if size_bytes > 0:
            yield struct.unpack_from(f">{size_bytes}s", data, at)[0]
        at += abs(size_bytes)
        if not size_bytes:
            return


def _principal(entry: bytes) -> str:
    """`name/host@REALM`, as programs of Kerberos write it."""
    (count,) = struct.unpack_from(">H", entry)
    texts: list[str] = []
    at = 2
    for _ in range(count + 1):
        (length,) = struct.unpack_from(">H", entry, at)
        (text,) = struct.unpack_from(f">{length}s", entry, at + 2)
        texts.append(text.decode().translate(_ESCAPED))
        at += 2 + length
    realm, *names = texts
    return f"{'/'.join(names)}@{realm}"
