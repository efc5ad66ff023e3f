"""`prices`: what `penstock cost` multiplies by."""

from penstock.config import units
from penstock.config.mistakes import Mistakes, Refused, shown
from penstock.config.route_section import plugin_options
from penstock.config.section_grammar import Key, Reading, Section, or_null, parsed, text
from penstock.config.tree import Node, Table
from penstock.model.plugin_call import Options, PluginCall
from penstock.model.spec import PriceSpec

LONGEST_CURRENCY = 10


def _currency(node: Node, _: Reading) -> str:
    word = text(node)
    if len(word) > LONGEST_CURRENCY or not word.isalpha():
        allowed = f"letters, at most {LONGEST_CURRENCY}, such as USD"
        raise Refused(f"found {shown(word)}", allowed)
    return word


def _make(plugin: str = "", options: Options = (), **values: object) -> PriceSpec:
    call = PluginCall(plugin, options) if plugin else None
    return PriceSpec(**values, call=call)  # type: ignore[arg-type]


_PRICE = Key(or_null(parsed(units.price, units.PRICE)))
PRICES = Section(
    _make,
    {
        "currency": Key(_currency),
        "task_hour": _PRICE,
        "gb_month": _PRICE,
        "gb_read": _PRICE,
        "thousand_puts": _PRICE,
        "million_records": _PRICE,
        "plugin": Key(text),
        "options": Key(plugin_options),
    },
)


def options_have_a_plugin(root: Table, mistakes: Mistakes) -> None:
    """A rule between keys: options of prices belong to a plug-in."""
    given = root.entries.get("prices")
    entries = given.entries if isinstance(given, Table) else {}
    if "options" in entries and "plugin" not in entries:
        found = "`options` without a plug-in"
        mistakes.add(entries["options"].place, found, "`plugin: NAME` beside them")
