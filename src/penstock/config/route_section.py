"""Where records go: `route`, `partition` and `forks`, each of which may name a plug-in.

Whether a package offers the plug-in is found out when a feed starts: a machine that only looks at a
lake need not have it.
"""

from penstock.config.conditions_section import conditions, constant
from penstock.config.feed_values import path_of
from penstock.config.mistakes import Refused, closest, shown
from penstock.config.section_grammar import Key, Reading, Section, as_table, described, listed, text
from penstock.config.tree import Node, Scalar, Sequence, Table
from penstock.model.convert_spec import Condition, Constant
from penstock.model.fork import ForkSpec
from penstock.model.plugin_call import Options, PluginCall
from penstock.model.spec import FeedSpec, PartitionKey, PartitionKind, RouteSpec

ROUTES = "topic | header:NAME | field:PATH | schema | plugin:NAME"
LEVELS = "day | hour | minute | field:PATH | plugin:NAME"
_BY_TOPIC = RouteSpec()
_PIECES: dict[str, PartitionKind] = {"day": "day", "hour": "hour", "minute": "minute"}
_WHOLE_BEYOND = 2**63


def constants(node: Node, reading: Reading) -> dict[str, Constant]:
    """A table of names and constants."""
    found: dict[str, Constant] = {}
    for name, child in as_table(node).entries.items():
        try:
            found[plain_name(Scalar(name, child.place))] = _bounded(constant(child))
        except Refused as refused:
            reading.mistakes.refuse(child.place, refused)
    return found


def plugin_options(node: Node, reading: Reading) -> Options:
    """The options of a plug-in, by name."""
    return tuple(constants(node, reading).items())


def plain_name(node: Node, _: Reading | None = None) -> str:
    """A name that is not a path."""
    word = text(node)
    if "." in word or not word.strip():
        raise Refused(f"found {shown(word)}", "a name without a dot; a field cannot be moved")
    return word


def _bounded(value: Constant) -> Constant:
    if isinstance(value, int) and not -_WHOLE_BEYOND <= value < _WHOLE_BEYOND:
        raise Refused("an integer of more than 64 bits", "a smaller one, or a text in quotes")
    return value


# --- route ---------------------------------------------------------------------------------------


def _by(node: Node, _: Reading) -> RouteSpec:
    """What decides the dataset of a record."""
    word = text(node)
    kind, colon, name = word.partition(":")
    if word == "topic":
        return RouteSpec()
    if kind == "header" and name.strip():
        return RouteSpec("header", name)
    if kind == "field" and colon:
        return RouteSpec("field", path_of(name))
    if word == "schema":
        return RouteSpec("schema", "schema")
    if kind == "plugin" and name.strip():
        return RouteSpec("plugin", name)
    raise Refused(f"found {shown(word)}", ROUTES, closest(word, ("topic", "schema")))


def _make_route(by: RouteSpec = _BY_TOPIC, options: Options = ()) -> RouteSpec:
    return RouteSpec(by.kind, by.name, options) if by.kind == "plugin" else by


ROUTE = Section(_make_route, {"by": Key(_by, required=True), "options": Key(plugin_options)})


def has_options_for_a_plugin(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """A rule between keys: options of a route belong to a plug-in."""
    route = table.entries.get("route")
    options = route.entries.get("options") if isinstance(route, Table) else None
    if options is not None and spec.route.kind != "plugin":
        found = "`options` without a plug-in"
        reading.mistakes.add(options.place, found, "`by: plugin:NAME` beside them")


# --- partition -----------------------------------------------------------------------------------


def _make_level(plugin: str = "", options: Options = (), name: str = "") -> PartitionKey:
    return PartitionKey("plugin", name or plugin, plugin, options)


_LEVEL = Section(
    _make_level,
    {
        "plugin": Key(text, required=True),
        "options": Key(plugin_options),
        "as": Key(plain_name, "name"),
    },
)


def _partition_key(node: Node, reading: Reading) -> PartitionKey:
    if isinstance(node, Table):
        return _LEVEL(node, reading)
    word = text(node)
    kind, _, name = word.partition(":")
    if word in _PIECES:
        return PartitionKey(_PIECES[word])
    if kind == "field" and word != kind:
        return PartitionKey("field", path_of(name))
    if kind == "plugin" and name.strip():
        return PartitionKey("plugin", name, name)
    raise Refused(f"found {shown(word)}", LEVELS, closest(word, _PIECES))


_partition_keys = listed(_partition_key, at_least=1)


def partition(node: Node, reading: Reading) -> tuple[PartitionKey, ...]:
    """The directory levels. Parts of the time go from coarse to fine, without gaps."""
    keys = _partition_keys(node, reading)
    pieces = [key.kind for key in keys if key.is_time]
    if isinstance(node, Sequence) and len(keys) < len(node.items):
        return keys  # an item was refused, so the order cannot be checked
    if pieces != list(_PIECES)[: len(pieces)]:
        found = f"found the order {', '.join(pieces)}"
        raise Refused(found, "day, then hour, then minute, none left out; others anywhere")
    names = [key.path.casefold() for key in keys if not key.is_time]
    for key in keys:
        if key.kind == "plugin" and names.count(key.path.casefold()) > 1:
            raise Refused(f"two levels are called by_{key.path}", "`as: NAME` beside the plug-in")
    return keys


# --- forks ---------------------------------------------------------------------------------------


def _targets(node: Node, reading: Reading) -> tuple[str, ...]:
    if isinstance(node, Sequence):
        return listed(text, at_least=1)(node, reading)
    return (text(node),)


def _make_forks(
    to: tuple[str, ...] = (),
    when: tuple[Condition, ...] = (),
    datasets: tuple[str, ...] = (),
    plugin: str = "",
    options: Options = (),
) -> tuple[ForkSpec, ...]:
    call = PluginCall(plugin, options) if plugin else None
    return tuple(ForkSpec(each, when, datasets, call) for each in to)


_FORK = Section(
    _make_forks,
    {
        "to": Key(_targets, required=True),
        "when": Key(conditions),
        "plugin": Key(text),
        "options": Key(plugin_options),
        "from": Key(listed(text, at_least=1), "datasets"),
    },
)


def _fork(node: Node, reading: Reading) -> tuple[ForkSpec, ...]:
    """One item: a fork by conditions, or as many as a fork function has datasets."""
    forks = _FORK(node, reading)
    given = as_table(node).entries
    if "plugin" in given:
        if "when" in given:
            reading.mistakes.add(given["when"].place, "both `when` and `plugin`", "one of the two")
        return forks
    if "when" not in given:
        place = node.place.key("when")
        reading.mistakes.add(place, "missing", "conditions, or `plugin: NAME` in their place")
    if "options" in given:
        found = "`options` without a plug-in"
        reading.mistakes.add(given["options"].place, found, "`plugin: NAME` beside them")
    if isinstance(given.get("to"), Sequence):
        found = f"found {described(given['to'])}"
        reading.mistakes.add(given["to"].place, found, "one dataset; several with a plug-in")
    return forks


_forks = listed(_fork)


def forks(node: Node, reading: Reading) -> tuple[ForkSpec, ...]:
    """Every fork; each has a place in the numbers of rows."""
    return tuple(fork for item in _forks(node, reading) for fork in item)
