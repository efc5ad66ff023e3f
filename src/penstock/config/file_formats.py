"""The format of data files and its compression. What is installed decides which there are."""

from penstock.api.doors import FORMATS
from penstock.api.errors import PluginError
from penstock.api.file_format import FileFormat
from penstock.api.find import find, offers
from penstock.config.mistakes import Refused, closest, shown
from penstock.config.plugin_by_name import plugin_by_name, refusal
from penstock.config.section_grammar import LATER, Reading, text
from penstock.config.tree import Node, Scalar, Table
from penstock.model.spec import FeedSpec

_FORMATS_TO_COME = ("text", "sequencefile")
_TABLES_TO_COME = ("iceberg", "delta")


def file_format(node: Node, _: Reading) -> str:
    """Read the name of an installed file format, which is imported here: it must be usable."""
    word = text(node)
    names = list(dict.fromkeys(each.name for each in offers(FORMATS)))
    if word in names:
        return plugin_by_name(FORMATS, word).name
    allowed = " | ".join(names)
    if word in _TABLES_TO_COME:
        found = f"a table is not a file format, and {word!r} is one; tables over files are {LATER}"
        raise Refused(found, allowed)
    if word in _FORMATS_TO_COME:
        raise Refused(f"{word!r} is {LATER}", allowed)
    raise Refused(f"found {shown(word)}", allowed, closest(word, names))


def fits_its_files(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """A format has compressions of its own; without either key the defaults fit each other."""
    given = table.entries
    chosen = [given[key] for key in ("compression", "format") if key in given]
    form = _usable_format(spec, table, reading)
    if form is None or not chosen:
        return
    if not form.traits.has_positions:
        found = f"{spec.format}, whose files have no columns for positions: {LATER}"
        reading.mistakes.add(chosen[-1].place, found, "a format with position columns")
    if spec.compression not in form.suffixes:
        allowed = " | ".join(form.suffixes)
        found = f"found {shown(spec.compression)} for {spec.format} files"
        meant = "" if reading.mistakes.full else closest(spec.compression, form.suffixes)
        reading.mistakes.add(chosen[0].place, found, allowed, meant)


def _usable_format(spec: FeedSpec, table: Table, reading: Reading) -> FileFormat | None:
    """The format of a feed; None where `format` was refused, or the default cannot be used."""
    given = table.entries.get("format")
    if given is not None and not (isinstance(given, Scalar) and given.text == spec.format):
        return None
    try:
        return find(FORMATS, spec.format)
    except PluginError as error:
        place = table.place if given is None else given.place
        reading.mistakes.refuse(place, refusal(error))
        return None
