"""Loads the whole configuration: file, environment and flags into a frozen spec."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.config.backup_feeds import check_backups
from penstock.config.clients import SERVERS, kafka, registry, spark, store
from penstock.config.errors import ConfigInvalid
from penstock.config.feed_section import FEED, feed
from penstock.config.location import lake
from penstock.config.mistakes import Mistakes, Place
from penstock.config.overrides import with_environment, with_flags
from penstock.config.price_section import PRICES, options_have_a_plugin
from penstock.config.run_section import RUN, pools_are_there
from penstock.config.section_grammar import (
    Key,
    Named,
    Reading,
    Section,
    described,
    known_keys,
    nothing_yet,
    or_null,
)
from penstock.config.store_settings import journal, stores, with_store_settings
from penstock.config.tree import Node, Scalar, Table, inherited_values, is_nothing, with_inheritance
from penstock.config.yaml_file import parse, read_text
from penstock.model.spec import FeedSpec, LakeSpec, RunLimits

VERSION = "1"
MOST_INHERITED = 200_000
_NO_FLAGS: Mapping[str, str] = {}


def load(
    path: Path, environ: Mapping[str, str], overrides: Mapping[str, str] = _NO_FLAGS
) -> LakeSpec:
    """Read a configuration; raises `ConfigInvalid` with every mistake in it.

    What is wrong with an installed package is listed with them; alone, it is not a mistake in the
    file: raises `PluginError`.

    `overrides` are flags: dotted paths such as `feeds.events.on_gap`, with their values. Reads the
    file and the schema files it names, and nothing else: secrets stay references.
    """
    mistakes = Mistakes(str(path))
    root = _root(parse(read_text(path, mistakes), mistakes, Place(line=1)), mistakes)
    root = with_environment(root, environ, mistakes)
    root = with_flags(root, overrides, mistakes)
    _check_version(root, mistakes)
    _check_inheritance(root, mistakes)
    values = TOP(with_inheritance(root), Reading(mistakes, path.absolute().parent))
    _check_kafka(root, values.get("feeds", ()), mistakes)
    check_backups(root, values.get("feeds", ()), mistakes)
    options_have_a_plugin(root, mistakes)
    pools_are_there(root, values.get("run", RunLimits()), values.get("feeds", ()), mistakes)
    values = with_store_settings(root, values, mistakes)
    if mistakes.only_plugin:
        raise mistakes.only_plugin
    if mistakes.all():
        raise ConfigInvalid(mistakes.source, mistakes.all())
    return LakeSpec(**values)


def all_keys() -> Iterator[str]:
    """Every key path that a file may have, with NAME where the user chooses a name."""
    return known_keys(TOP)


def _root(node: Node | None, mistakes: Mistakes) -> Table:
    if isinstance(node, Table):
        return node
    if not is_nothing(node) and node is not None:
        mistakes.add(node.place, f"found {described(node)}", "keys such as `lake:` and `feeds:`")
        raise ConfigInvalid(mistakes.source, mistakes.all())
    return Table({}, Place(line=1))


def _check_version(root: Table, mistakes: Mistakes) -> None:
    """Refuse a file of another version before anything else is checked."""
    node = root.entries.get("version")
    if node is not None and not (isinstance(node, Scalar) and node.text == VERSION):
        mistakes.add(node.place, f"found {described(node)}", VERSION)
        raise ConfigInvalid(mistakes.source, mistakes.all())


def _check_inheritance(root: Table, mistakes: Mistakes) -> None:
    """Limit the number of inherited values, so that a small file cannot become a large tree."""
    if inherited_values(root) > MOST_INHERITED:
        place = root.entries["defaults"].place
        mistakes.add(place, "too many inherited values", f"together {MOST_INHERITED}")
        raise ConfigInvalid(mistakes.source, mistakes.all())


def _check_kafka(root: Table, feeds: Iterable[FeedSpec], mistakes: Mistakes) -> None:
    """Kafka's settings are required unless every feed has another source, or its own cluster."""
    needs = [feed.source.is_kafka and SERVERS not in feed.kafka for feed in feeds]
    if "kafka" not in root.entries and (any(needs) or not needs):
        mistakes.add(root.place.key("kafka"), "missing, and required")


def _defaults(node: Node, reading: Reading) -> None:
    """Read the defaults like a feed, only to find mistakes: feeds have inherited the values."""
    FEED(node, reading, name="defaults")


def _version(_: Node, __: Reading) -> None:
    """Nothing: the version was checked before everything else."""


FEEDS = Named(feed, FEED, needed="at least one feed, such as `events: {topics: [events]}`")
TOP: Section[dict[str, Any]] = Section(
    dict,
    {
        "version": Key(_version, field=None, required=True),
        "lake": Key(lake, required=True),
        "store": Key(store),
        "stores": Key(stores),
        "journal": Key(or_null(journal)),
        "kafka": Key(kafka),
        "registry": Key(registry),
        "spark": Key(spark),
        "prices": Key(PRICES),
        "run": Key(RUN),
        "defaults": Key(_defaults, field=None),
        "feeds": Key(FEEDS, required=True),
        "dispersals": Key(nothing_yet, field=None),
    },
)
