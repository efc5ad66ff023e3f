"""Names in the lake: which strings may be a key, and how a key falls into components."""

from penstock.errors import BadKey

LONGEST_COMPONENT_BYTES = 255
UNTEXT = "a name that is not UTF-8"


def check_key(key: str, longest_bytes: int | None = None) -> tuple[str, ...]:
    """Split a key into its components, or raise `BadKey`.

    Only what could leave the lake, mean another name, or fit into no directory is refused, and
    what is longer than a store takes. Odd characters are legal: a store that cannot hold them has
    to encode them itself.
    """
    if not key:
        raise BadKey(key, "it is empty")
    if key.startswith("/"):
        raise BadKey(key, "it is absolute")
    if "\0" in key:
        raise BadKey(key, "it contains a NUL character")
    components = tuple(key.split("/"))
    for component in components:
        _check_component(key, component)
    if longest_bytes is not None and len(key.encode("utf-8")) > longest_bytes:
        why = f"it has {len(key.encode('utf-8'))} bytes, and this store takes {longest_bytes}"
        raise BadKey(key, why)
    return components


def check_component(name: str) -> str:
    """Return a name that is to be exactly one component of a key, or raise `BadKey`."""
    if len(check_key(name)) != 1:
        raise BadKey(name, "it has to be a single component, without a slash")
    return name


def is_text(name: str) -> bool:
    """False for a name that is not UTF-8: it can be nobody's key, but readers may read it."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_component(key: str, component: str) -> None:
    if not component:
        raise BadKey(key, "one of its components is empty")
    if component in {".", ".."}:
        raise BadKey(key, f"the component {component!r} points to another directory")
    try:
        encoded = component.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadKey(key, "it contains half of a surrogate pair, not a character") from error
    if len(encoded) > LONGEST_COMPONENT_BYTES:
        raise BadKey(
            key,
            f"a component has {len(encoded)} bytes, and {LONGEST_COMPONENT_BYTES} is the most "
            "that directories hold",
        )
