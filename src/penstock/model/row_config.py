"""The configuration that shaped the rows of a window: its digest, its text, and what has changed.

Entries hold the digest, and the lake holds the text once for each digest. Two texts are compared
key by key: a key that a later version has added, and that has its default value, is not a change.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from penstock.model.row_settings import Setting, Settings, row_settings, setting_text
from penstock.model.spec import FeedSpec
from penstock.model.value import Value

CONFIG_FORMAT = 1  # raised when settings get another form
DIGEST_LETTERS = 16
LONGEST_SHOWN = 120


class StoredConfig(Value, frozen=True):
    """The object in the lake: settings by the keys of `penstock.yaml`, without any secret."""

    format: int
    settings: msgspec.Raw


class SettingChange(Value, frozen=True):
    """A key whose value is another one now; None where it had no value, or has none now."""

    key: str
    before: str | None
    now: str | None

    def __str__(self) -> str:
        return f"`{self.key}` was {_shown(self.before)} and is {_shown(self.now)}"


class RowConfig(Value, frozen=True):
    """The settings of a feed that shape rows, as the bytes of their object in the lake."""

    digest: str
    text: bytes

    @classmethod
    def of(cls, feed: FeedSpec) -> "RowConfig":
        """That of a feed. The order of keys in the file makes no difference."""
        settings = msgspec.json.encode(row_settings(feed), order="sorted")
        text = msgspec.json.encode(StoredConfig(CONFIG_FORMAT, msgspec.Raw(settings)))
        return cls(digest_of(text), text)


class _Absent:
    """A key without a value, which is not the value null."""


_ABSENT = _Absent()
_MaybeSetting: TypeAlias = "Setting | _Absent"
_decoder = msgspec.json.Decoder(StoredConfig)


def digest_of(text: bytes) -> str:
    """The digest of a configuration; another one shows that something was changed."""
    return hashlib.sha256(text).hexdigest()[:DIGEST_LETTERS]


def settings_in(text: bytes) -> Settings:
    """The settings in the bytes of an object; raises what msgspec raises, or ValueError."""
    return msgspec.json.decode(_decoder.decode(text).settings, type=dict)


def changes(before: Settings, now: Settings) -> tuple[SettingChange, ...]:
    """The keys with another value, in the order of their names."""
    default = row_settings(FeedSpec(name="default"))
    return tuple(_table_changes("", before, now, default))


def _table_changes(
    key: str, before: Settings, now: Settings, default: Settings
) -> Iterator[SettingChange]:
    for name in sorted(before.keys() | now.keys()):
        was = before.get(name, default.get(name, _ABSENT))
        usual = default.get(name)
        inside = usual if isinstance(usual, dict) else {}
        here = f"{key}.{name}" if key else name
        yield from _value_changes(here, was, now.get(name, _ABSENT), inside)


def _value_changes(
    key: str, before: _MaybeSetting, now: _MaybeSetting, default: Settings
) -> Iterator[SettingChange]:
    if isinstance(before, dict) and isinstance(now, dict):
        yield from _table_changes(key, before, now, default)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (was, other) in enumerate(zip(before, now, strict=True)):
            yield from _value_changes(f"{key}[{number}]", was, other, {})
    elif _as_json(before) != _as_json(now):  # as values, 1 and true would be equal
        is_clear = _text(before) != _text(now)  # else one is a text and the other a number
        shown = _text if is_clear else _as_json
        yield SettingChange(key, shown(before), shown(now))


def _text(value: _MaybeSetting) -> str | None:
    return None if isinstance(value, _Absent) else setting_text(value)


def _as_json(value: _MaybeSetting) -> str | None:
    return None if isinstance(value, _Absent) else json.dumps(value, sort_keys=True)


def _shown(text: str | None) -> str:
    if text is None:
        return "not set"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
