"""Applies environment variables and flags: `PENSTOCK__LAKE=...` and `lake=...`.

They change the tree before it is read, so the same rules apply to them as to the file. Flags win
over the environment, and the environment wins over the file.
"""

from collections.abc import Mapping, Sequence

from penstock.config.mistakes import Mistakes, Place
from penstock.config.tree import Node, Scalar, Table
from penstock.config.yaml_file import DEEPEST, parse

PREFIX = "PENSTOCK__"
# Below these the rest of a path is one key, because keys of Kafka and Spark contain dots.
_VERBATIM = frozenset({"kafka", "spark"})


def with_environment(root: Table, environ: Mapping[str, str], mistakes: Mistakes) -> Table:
    """The tree with every `PENSTOCK__...` variable in its place."""
    for name in sorted(environ):
        if name.startswith(PREFIX):
            path = _variable_path(name.removeprefix(PREFIX))
            root = _with(root, path, environ[name], name, mistakes)
    return root


def with_flags(root: Table, flags: Mapping[str, str], mistakes: Mistakes) -> Table:
    """The tree with every flag in its place; a flag is a dotted path."""
    for name, value in flags.items():
        root = _with(root, _flag_path(name), value, f"override {name}", mistakes)
    return root


def _variable_path(name: str) -> Sequence[str]:
    """`FEEDS__EVENTS__ON_GAP` is feeds, events, on_gap; a part in mixed case keeps it.

    Shells have no dots in names, so `KAFKA__BOOTSTRAP_SERVERS` is `bootstrap.servers`.
    """
    parts = [part.lower() if part.isupper() else part for part in name.split("__")]
    begin = _begin_of_client(parts)
    if begin is None:
        return parts
    key = "_".join(parts[begin + 1 :]).replace("_", ".")
    return (*parts[:begin], *_client_path(parts[begin], key))


def _flag_path(name: str) -> Sequence[str]:
    parts = name.split(".")
    begin = _begin_of_client(parts)
    if begin is None:
        return parts
    return (*parts[:begin], *_client_path(parts[begin], ".".join(parts[begin + 1 :])))


def _begin_of_client(parts: Sequence[str]) -> int | None:
    """Where `kafka` or `spark` stands in a path to one of their settings; a feed has `kafka`."""
    if parts[0] in _VERBATIM and len(parts) > 1:
        return 0
    if len(parts) > 3 and (parts[0], parts[2]) == ("feeds", "kafka"):
        return 2
    if len(parts) > 2 and (parts[0], parts[1]) == ("defaults", "kafka"):
        return 1
    return None


def _client_path(section: str, key: str) -> Sequence[str]:
    """Add Spark's prefix to a key, so that users need not write `spark` twice."""
    if section == "spark" and not key.startswith("spark."):
        key = f"spark.{key}"
    return section, key


def _with(root: Table, path: Sequence[str], value: str, origin: str, mistakes: Mistakes) -> Table:
    place = Place(origin=origin)
    if not all(path) or len(path) > DEEPEST:
        mistakes.add(place, "not a key", "a path of keys, such as lake or feeds.NAME.on_gap")
        return root
    for part in path:
        place = place.key(part)
    return _put(root, path, _node(path, value, place, mistakes), mistakes)


def _node(path: Sequence[str], value: str, place: Place, mistakes: Mistakes) -> Node:
    """A value is text, unless it begins like a list or a mapping."""
    is_setting = _begin_of_client(path) is not None
    if not is_setting and value.lstrip()[:1] in ("[", "{"):
        node = parse(value, mistakes, place)
        if node is not None:
            return node
    return Scalar(value, place)


def _put(table: Table, path: Sequence[str], node: Node, mistakes: Mistakes) -> Table:
    name, rest = path[0], path[1:]
    if not rest:
        return table.with_entry(name, node)
    inner = table.entries.get(name)
    if inner is None or (isinstance(inner, Scalar) and inner.is_null):
        inner = Table({}, Place(table.place.key(name).path, origin=node.place.origin))
    if not isinstance(inner, Table):
        mistakes.add(node.place, f"a key below {name!r}, which has no keys", "a key that exists")
        return table
    return table.with_entry(name, _put(inner, rest, node, mistakes))
