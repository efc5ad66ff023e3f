"""The section `convert` of a feed: an ordered list of steps, each one verb with its arguments.

Secrets stay references in the spec. `reveal_keys` replaces them when a run or a replay starts.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from penstock.config.conditions_section import conditions
from penstock.config.errors import ConfigInvalid
from penstock.config.feed_values import field_path, path_of
from penstock.config.mistakes import Mistakes, Place, Refused, closest, shown
from penstock.config.route_section import constants, plain_name
from penstock.config.secrets import FORMS, is_only_references, revealed, with_whole_paths
from penstock.config.section_grammar import Reading, as_table, described, listed, text
from penstock.config.set_section import column_type, set_step
from penstock.config.tree import Node, Scalar, Sequence, Table
from penstock.model.convert_spec import Constant, ConvertSpec, Verb
from penstock.model.encryption_keys import Keys
from penstock.model.spec import FeedSpec

KEY_BYTES = 32
_SHOWN = re.compile(r"\d{1,4}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_WHOLE_BEYOND = 2**63

T = TypeVar("T")
_datasets = listed(text, at_least=1)
_paths = listed(field_path, at_least=1)


def converters(node: Node, reading: Reading) -> tuple[ConvertSpec, ...]:
    """Every step, in the order of the file; steps may repeat."""
    if not isinstance(node, Sequence):
        raise Refused(f"found {described(node)}", "a list such as [{drop: [a]}, {mask: [b]}]")
    found = [_read(item, lambda each: _step(each, reading), reading) for item in node.items]
    return tuple(step for step in found if step is not None)


def _step(node: Node, reading: Reading) -> ConvertSpec | None:
    table = as_table(node)
    entries = table.entries
    verbs = [name for name in entries if name in _VERBS]
    beside = ("datasets", "options") if verbs == ["plugin"] else ("datasets",)
    for name in entries:
        if name not in _VERBS and name not in beside:
            allowed = ", ".join([*_VERBS, *beside])
            meant = closest(name, [*_VERBS, *beside])
            reading.mistakes.add(entries[name].place, "unknown key", allowed, meant)
    if len(verbs) != 1:
        found = f"found {' and '.join(verbs)}" if verbs else "found no verb"
        raise Refused(found, f"one of {', '.join(_VERBS)}")
    spec = _read(entries[verbs[0]], lambda each: _VERBS[verbs[0]](each, table, reading), reading)
    if "datasets" not in entries or spec is None:
        return spec
    datasets = _read(entries["datasets"], lambda each: _datasets(each, reading), reading)
    return msgspec.structs.replace(spec, datasets=datasets or ())


def _read(node: Node, read: Callable[[Node], T], reading: Reading) -> T | None:
    """Read a value; a refused one is recorded at its own place."""
    try:
        return read(node)
    except Refused as refused:
        reading.mistakes.refuse(node.place, refused)
        return None


def _pairs(node: Node, reading: Reading) -> Iterable[tuple[str, Node]]:
    """The paths of a table with their values; at least one."""
    entries = as_table(node).entries
    if not entries:
        raise Refused("found nothing", "fields, such as {field: ...}")
    for path, child in entries.items():
        try:
            yield path_of(path), child
        except Refused as refused:
            reading.mistakes.refuse(child.place, refused)


def _words(
    verb: Verb, node: Node, reading: Reading, read: Callable[[Node, Reading], str]
) -> ConvertSpec:
    """A step with one argument per field."""
    found: dict[str, str] = {}
    for path, child in _pairs(node, reading):
        word = _read(child, lambda each: read(each, reading), reading)
        if word is not None:
            found[path] = word
    return ConvertSpec(verb, tuple(found), tuple(found.values()))


def _shown(node: Node, _: Reading) -> str:
    word = text(node)
    if not _SHOWN.fullmatch(word):
        raise Refused(f"found {shown(word)}", "the number of characters to show at the end")
    return word


def _reference(node: Node, reading: Reading) -> str:
    """A reference to a secret. Any other value is not repeated in the message."""
    if not isinstance(node, Scalar) or not is_only_references(node.text):
        raise Refused("not a reference to a secret", f"only {FORMS}")
    return with_whole_paths(node.text.strip(), reading.folder_of(node))


def _rename(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return _words("rename", node, reading, plain_name)


def _drop(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return ConvertSpec("drop", _paths(node, reading))


def _keep(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return ConvertSpec("keep", _paths(node, reading))


def _flatten(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return ConvertSpec("flatten", _paths(node, reading))


def _cast(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return _words("cast", node, reading, column_type)


def _set(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return set_step(node, reading)


def _filter(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return ConvertSpec("filter", conditions=conditions(node, reading))


def _mask(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    if isinstance(node, Sequence):
        paths = _paths(node, reading)
        return ConvertSpec("mask", paths, ("",) * len(paths))
    return _words("mask", node, reading, _shown)


def _hash(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return _words("hash", node, reading, _reference)


def _encrypt(node: Node, _: Table, reading: Reading) -> ConvertSpec:
    return _words("encrypt", node, reading, _reference)


def _plugin(node: Node, step: Table, reading: Reading) -> ConvertSpec:
    given = step.entries.get("options")
    options: dict[str, Constant] = {}
    if given is not None:
        options = _read(given, lambda each: constants(each, reading), reading) or {}
    return ConvertSpec("plugin", tuple(options), (text(node),), tuple(options.values()))


_VERBS: dict[str, Callable[[Node, Table, Reading], ConvertSpec]] = {
    "rename": _rename,
    "drop": _drop,
    "keep": _keep,
    "cast": _cast,
    "set": _set,
    "filter": _filter,
    "flatten": _flatten,
    "mask": _mask,
    "hash": _hash,
    "encrypt": _encrypt,
    "plugin": _plugin,
}


def reveal_keys(feeds: Iterable[FeedSpec], environ: Mapping[str, str]) -> Keys:
    """The secrets of all steps, by their references; raises `ConfigInvalid`."""
    mistakes = Mistakes("`convert`")
    found: dict[tuple[str, str], bytes] = {}
    for feed in feeds:
        place = Place("feeds").key(feed.name).key("convert")
        for number, spec in enumerate(feed.convert):
            for path, reference in zip(spec.paths, spec.references, strict=False):
                try:
                    found[spec.verb, reference] = _key(spec.verb, reference, environ)
                except Refused as refused:
                    mistakes.refuse(place.item(number).key(spec.verb).key(path), refused)
    if mistakes.all():
        raise ConfigInvalid(mistakes.source, mistakes.all())
    return Keys(found)


def _key(verb: str, reference: str, environ: Mapping[str, str]) -> bytes:
    word = revealed(reference, environ).reveal()
    if verb == "hash":
        return word.encode()
    raw = _as_key(word.strip())
    if raw is None:
        raise Refused("not a key", f"{KEY_BYTES} bytes in base64 or in hexadecimal digits")
    return raw


def _as_key(word: str) -> bytes | None:
    if _HEX.fullmatch(word):
        return bytes.fromhex(word)
    try:
        raw = base64.b64decode(word.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == KEY_BYTES else None
