"""Which settings the stores of a file get: `store` is the lake's own, `stores` go by address."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.config.clients import store
from penstock.config.location import location, prefix_of
from penstock.config.mistakes import Mistakes, Refused
from penstock.config.section_grammar import Reading, as_table, text
from penstock.config.tree import Node, Table
from penstock.model.store_spec import LOCAL, StoreSpec


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Settings of every store whose address begins with `prefix`, as far as whole names go."""

    prefix: str
    settings: dict[str, str]

    def fits(self, uri: str) -> bool:
        """True for the prefix itself and for everything below it; `s3://` is all of S3."""
        return uri == self.prefix or uri.startswith(f"{self.prefix.removesuffix('/')}/")


def journal(node: Node, reading: Reading) -> StoreSpec:
    """The spec of the journal's store, without its settings. It need not exist yet."""
    return location(text(node), reading.folder_of(node), "a journal")


def stores(node: Node, reading: Reading) -> tuple[StoreSettings, ...]:
    """Settings by the beginnings of addresses, references not yet replaced."""
    found: dict[str, StoreSettings] = {}
    for word, child in as_table(node).entries.items():
        try:
            prefix = prefix_of(word, reading.folder_of(child))
            if prefix in found:
                raise Refused("the same address twice", "each address once")
            found[prefix] = StoreSettings(prefix, store(child, reading))
        except Refused as refused:
            reading.mistakes.refuse(child.place, refused)
    return tuple(found.values())


def with_store_settings(
    root: Table, values: Mapping[str, Any], mistakes: Mistakes
) -> dict[str, Any]:
    """The values of a file with the settings of each store in the store's own spec.

    Settings for addresses that nothing in the file has are left alone.
    """
    found = dict(values)
    own, given = found.pop("store", {}), found.pop("stores", ())
    for name in ("lake", "journal"):
        spec = found.get(name)
        if spec is not None:
            is_own = name == "lake" and "store" in root.entries
            settings = own if is_own else _settings_for(spec.uri, given)
            found[name] = msgspec.structs.replace(spec, settings=settings)
    for complaint in _overlaps(found.get("lake"), found.get("journal")):
        mistakes.refuse(root.entries["journal"].place, complaint)
    return found


def _settings_for(uri: str, given: tuple[StoreSettings, ...]) -> dict[str, str]:
    """Those of the longest prefix that fits; they are not mixed with those of shorter ones."""
    fitting = [each for each in given if each.fits(uri)]
    return max(fitting, key=lambda each: len(each.prefix)).settings if fitting else {}


def _overlaps(lake: StoreSpec | None, journal: StoreSpec | None) -> Iterator[Refused]:
    """A journal elsewhere lies apart: neither in the lake nor around it."""
    if lake is None or journal is None or lake.scheme != journal.scheme:
        return
    if lake.uri == journal.uri:
        found = "the address of the lake, where the journal lies without this key"
        yield Refused(found, "another address, or no `journal`")
    elif f"{lake.uri}/".startswith(f"{journal.uri}/") or f"{journal.uri}/".startswith(
        f"{lake.uri}/"
    ):
        example = "./journal" if journal.scheme == LOCAL else f"{journal.scheme}://..."
        yield Refused(
            "an address in the lake, or around it", f"a separate place, such as {example}"
        )
