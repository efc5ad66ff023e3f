"""The format of data files and its compression. What is installed decides which there are."""

from penstock.api.doors import FORMATS
from penstock.api.errors import PluginError
from penstock.api.file_format import FileFormat
from penstock.api.find import find, offers
from penstock.config.mistakes import Refused, closest, shown
from penstock.config.plugin_by_name import plugin_by_name, refusal
from penstock.config.record_files import WRITTEN_AS, fits_records
from penstock.config.section_grammar import LATER, Reading, text
from penstock.config.tree import Node, Scalar, Table
from penstock.model.spec import FeedSpec

DEFAULT_COMPRESSION = FeedSpec(name="default").compression
_TABLES_TO_COME = ("iceberg", "delta")


def file_format(node: Node, _: Reading) -> str:
    """Read the name of an installed file format, which is imported here: it must be usable."""
    word = text(node)
    offered = dict.fromkeys(each.name for each in offers(FORMATS))
    names = [each for each in offered if each not in WRITTEN_AS]
    if word in names:
        return plugin_by_name(FORMATS, word).name
    allowed = " | ".join(names)
    if word in _TABLES_TO_COME:
        found = f"a table is not a file format, and {word!r} is one; tables over files are {LATER}"
        raise Refused(found, allowed)
    if word in WRITTEN_AS:
        name, section = WRITTEN_AS[word]
        raise Refused(f"found {shown(word)}", f"`format: {name}` with {section}")
    raise Refused(f"found {shown(word)}", allowed, closest(word, names))


def usual_compression(name: str) -> str | None:
    """The compression of a format that does not have the default; None where nothing is to say."""
    try:
        found = list(find(FORMATS, name).suffixes)
    except PluginError:
        return None
    return None if DEFAULT_COMPRESSION in found else found[0]


def fits_its_files(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """A format has compressions of its own; without either key the defaults fit each other."""
    given = table.entries
    chosen = [given[key] for key in ("compression", "format") if key in given]
    form = _usable_format(spec, table, reading)
    if form is None or not chosen:
        return
    fits_records(spec, form, table, reading)
    if spec.compression not in form.suffixes:
        allowed = " | ".join(form.suffixes)
        found = f"found {shown(spec.compression)} for {_written(spec)} files"
        meant = "" if reading.mistakes.full else closest(spec.compression, form.suffixes)
        reading.mistakes.add(chosen[0].place, found, allowed, meant)


def _usable_format(spec: FeedSpec, table: Table, reading: Reading) -> FileFormat | None:
    """The format of a feed; None where `format` was refused, or the default cannot be used."""
    given = table.entries.get("format")
    if given is not None and not (isinstance(given, Scalar) and given.text == _written(spec)):
        return None
    try:
        return find(FORMATS, spec.format)
    except PluginError as error:
        place = table.place if given is None else given.place
        reading.mistakes.refuse(place, refusal(error))
        return None


def _written(spec: FeedSpec) -> str:
    """The format of a feed as its key says it."""
    return WRITTEN_AS.get(spec.format, (spec.format, ""))[0]
