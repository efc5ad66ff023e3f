"""Feeds whose files hold records as they came: sections of such formats, and keys that fit them.

A section chooses between formats that have a name each in journals, because no reader treats a
directory with both as one table.
"""

from collections.abc import Iterator

from penstock.api.file_format import FileFormat
from penstock.config.mistakes import Place
from penstock.config.section_grammar import Key, Reading, Section, choice
from penstock.config.tree import Table
from penstock.model.spec import FeedSpec

_ESCAPED, _MSGPACK = "text-escaped", "sequencefile-msgpack"
# By the format as a file names it and the word of its section; all other words change nothing.
_CHOSEN = {("text", "escape"): _ESCAPED, ("sequencefile", "msgpack"): _MSGPACK}
# What the key `format` says for these, and what its section says.
WRITTEN_AS = {
    _ESCAPED: ("text", "`text: {line_ends: escape}`"),
    _MSGPACK: ("sequencefile", "`sequencefile: {key: msgpack}`"),
}
_VALUES_ALONE = "whose files hold the values of records as they came"


def _line_ends(line_ends: str = "") -> str:
    return line_ends


def _key(key: str = "") -> str:
    return key


TEXT = Section(_line_ends, {"line_ends": Key(choice("quarantine", "escape"))})
SEQUENCEFILE = Section(_key, {"key": Key(choice("offset", "msgpack"))})
SECTIONS = ("text", "sequencefile")


def format_as_chosen(name: str, sections: dict[str, str]) -> str:
    """The name of the format in journals, by the key `format` and the sections of formats."""
    return _CHOSEN.get((name, sections.get(name, "")), name)


def has_sections_of_its_format(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """A section of another format would have no effect."""
    name, _ = WRITTEN_AS.get(spec.format, (spec.format, ""))
    for section in SECTIONS:
        given = table.entries.get(section)
        if given is not None and section != name:
            found = f"`{section}` where the files are {name}"
            reading.mistakes.add(given.place, found, f"`format: {section}`, or no `{section}`")


def fits_records(spec: FeedSpec, form: FileFormat, table: Table, reading: Reading) -> None:
    """Each record is one row of such files, as it came, and nothing else of it is written."""
    if form.traits.has_columns:
        return
    name, _ = WRITTEN_AS.get(spec.format, (spec.format, ""))
    for place, what, allowed in _misfits(spec, table):
        reading.mistakes.add(place, f"{what} for {name}, {_VALUES_ALONE}", allowed)


def _misfits(spec: FeedSpec, table: Table) -> Iterator[tuple[Place, str, str]]:
    """Where a key asks for what such files cannot hold, what it asks for, and what is allowed."""
    given = table.entries
    decode = given.get("decode")
    if spec.decode.spread and isinstance(decode, Table):
        yield decode.entries["spread"].place, "`spread`", "`spread: false`"
    if spec.forks:
        yield given["forks"].place, "`forks`", "no `forks`"
    verbs = sorted({each.verb for each in spec.convert} - {"filter"})
    if verbs:
        yield given["convert"].place, f"`{verbs[0]}`", "`filter` steps alone"
    if spec.include:
        yield given["include"].place, f"`{spec.include[0]}`", "no `include`"
    if spec.tombstones == "keep":
        yield given["tombstones"].place, "`keep`", "filter | quarantine"
