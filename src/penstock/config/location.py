"""The location of the lake: a directory, or an address whose store a package offers."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.api.doors import STORES
from penstock.api.errors import PluginAmbiguous, PluginUnknown
from penstock.api.find import offer
from penstock.config.mistakes import Refused
from penstock.config.plugin_by_name import refusal
from penstock.config.section_grammar import Reading, text
from penstock.config.tree import Node
from penstock.model.store_spec import LOCAL, StoreSpec

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://|(?P<file>(?i:file)):/")
_ONE_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_OTHER_NAMES = {"s3a": "s3", "s3n": "s3"}  # Hadoop's, of the same place
_ALLOWED = "a directory, or file:///directory"


def lake(node: Node, reading: Reading) -> StoreSpec:
    """The spec of the lake's store, without its settings. The lake need not exist yet."""
    return location(text(node), reading.folder_of(node))


def location(word: str, folder: Path, what: str = "a lake") -> StoreSpec:
    """The store at an address; a path without a scheme is relative to `folder`. Raises `Refused`.

    Messages name only the scheme, because the rest of an address may contain credentials, and
    `what` is to lie there.
    """
    scheme, address = _scheme_and_address(word, folder)
    return _store(scheme, address, what)


def prefix_of(word: str, folder: Path) -> str:
    """The beginning of addresses of stores, as their `uri` has it; `s3://` alone is all of S3."""
    match = _SCHEME.fullmatch(word)
    if match is not None and match["scheme"]:
        return f"{match['scheme'].lower()}://"
    scheme, address = _scheme_and_address(word, folder)
    return address if scheme == LOCAL else f"{scheme}://{address}"


def _scheme_and_address(word: str, folder: Path) -> tuple[str, str]:
    match = _SCHEME.match(word)
    if match is None:
        if one := _ONE_SLASH.match(word):
            raise Refused(f"an address that begins with {one[0]}", f"{one[0]}/ or a directory")
        return LOCAL, _absolute(word, folder)
    scheme = (match["scheme"] or match["file"]).lower()
    if usual := _OTHER_NAMES.get(scheme):
        raise Refused(f"a lake on {scheme}://, which Hadoop calls so", f"{usual}://bucket/prefix")
    if scheme == LOCAL:
        return LOCAL, _of_file_url(word, folder)
    return scheme, _of_url(scheme, word[match.end() :])


def _store(scheme: str, address: str, what: str) -> StoreSpec:
    try:
        return StoreSpec(scheme, address, offer(STORES, scheme))
    except PluginUnknown as error:
        others = [f"{name}://..." for name in error.known if name != LOCAL]
        allowed = ", or ".join([_ALLOWED, *others])
        raise Refused(f"{what} on {scheme}:// is unknown", allowed, error.meant) from None
    except PluginAmbiguous as error:
        raise refusal(error) from None


def _of_url(scheme: str, rest: str) -> str:
    """The part after the scheme, not decoded: the store interprets it."""
    address = rest.rstrip("/")
    if "@" in address.partition("/")[0]:
        raise Refused(f"a {scheme}:// address with a secret in it", "secrets below `store`")
    if not address or any(mark in address for mark in "?#"):
        raise Refused(f"a {scheme}:// address with '?' or '#', or an empty one", "an address")
    return address


def _of_file_url(word: str, folder: Path) -> str:
    try:
        parts = urlsplit(word)
        path = unquote(parts.path, errors="strict")
    except ValueError:
        raise Refused("a file:// address that cannot be read", _ALLOWED) from None
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment or "\0" in path:
        raise Refused("a file:// address with a host, '?' or '#'", _ALLOWED)
    return _absolute(path, folder)


def _absolute(word: str, folder: Path) -> str:
    """The path without `.` and `..`. Links are not resolved; the store checks them itself."""
    if word.startswith("~"):
        raise Refused(
            "a path that starts with '~'", "an absolute path, or one relative to the file"
        )
    parts: list[str] = []
    for part in (folder.absolute() / word).parts[1:]:
        if part == "..":
            del parts[-1:]
        else:
            parts.append(part)
    if not parts:
        raise Refused("the root directory", "a separate directory for the lake")
    return str(Path("/", *parts))


def key_in(lake: StoreSpec, word: str) -> str:
    """The key of a file in the lake that a user names by its key, its path or its URI."""
    if lake.scheme != LOCAL:
        scheme, mark, rest = word.partition("://")
        same = f"{_OTHER_NAMES.get(scheme, scheme)}{mark}{rest}"
        above = f"{lake.uri.rstrip('/')}/"
        return same.removeprefix(above) if same.startswith(above) else word
    path = unquote(urlsplit(word).path) if word.startswith("file:") else word
    root = Path(lake.address).resolve()
    for candidate in (Path(path), root / path):
        whole = candidate.resolve()
        if (candidate.is_absolute() or candidate.exists()) and whole.is_relative_to(root):
            return whole.relative_to(root).as_posix()
    return word
