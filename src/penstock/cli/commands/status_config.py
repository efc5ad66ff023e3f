"""`penstock status FEED --config-of WINDOW`: the configuration that shaped the rows of a window."""

import json
from collections.abc import Iterator, Sequence

from penstock.cli.common import chosen_feeds, reading_journal, surroundings
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import printable
from penstock.model.entries import Replay, SealedEntry, Window
from penstock.model.row_settings import Setting, Settings
from penstock.model.spec import LakeSpec
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.row_configs import read_config

_SUFFIXES = {"avsc": "avsc", "jsonschema": "json"}


def config_of(spec: LakeSpec, feeds: Sequence[str], window: str, output: str) -> int:
    """Print it, as keys of `penstock.yaml`; raises `UsageMistake` where there is none."""
    if len(feeds) != 1:
        raise UsageMistake(
            "--config-of is about a window of one feed.", "Name it: status FEED --config-of WINDOW."
        )
    feed = chosen_feeds(spec, feeds)[0].name
    journal = reading_journal(spec, feed)
    state = journal.open().state
    sealed = EntrySearch(journal, state.number, surroundings().do_all).window(window)
    body = None if sealed is None else sealed.body
    if sealed is None or not isinstance(body, Window | Replay):
        raise UsageMistake(
            f"Feed {feed!r} has not decided a window {window!r}.",
            "`penstock status` shows the last window; `penstock where` the window of a record.",
        )
    if not body.config:
        raise UsageMistake(
            f"Window {window!r} of feed {feed!r} was decided by a version that did not record its "
            "configuration.",
            "Windows since version 0.4 have one.",
        )
    settings = read_config(journal, body.config)
    if settings is None:
        raise UsageMistake(
            f"The configuration {body.config} of window {window!r} is not in the lake any more.",
            f"Restore {journal.layout.config(body.config)!r} from a backup.",
        )
    if output == "json":
        print(json.dumps(_facts(feed, sealed, body) | {"settings": settings}))
    else:
        for line in config_lines(feed, sealed, body, settings):
            print(line)
    return 0


def _facts(feed: str, sealed: SealedEntry, body: Window | Replay) -> Settings:
    reading = body.reading if isinstance(body, Window) else {}
    return {
        "feed": feed,
        "window": body.window,
        "entry": sealed.number,
        "at": sealed.entry.at,
        "config": body.config,
        "schemas": dict(body.schemas),
        "reading": dict(reading),
    }


def config_lines(
    feed: str, sealed: SealedEntry, body: Window | Replay, settings: Settings
) -> Iterator[str]:
    """The settings as YAML that can be put below the feed, with comments."""
    versions = ", ".join(f"{name} v{number}" for name, number in sorted(body.schemas.items()))
    yield f"# feed {feed}, window {body.window}, entry {sealed.number}, decided {sealed.entry.at}"
    yield f"# configuration {body.config}; schemas: {printable(versions) or 'none'}"
    yield from _table_lines("", settings, "")


def _table_lines(parent: str, table: Settings, indent: str) -> Iterator[str]:
    for name, value in table.items():
        if name == "schema_text":
            yield from _schema_lines(parent, table, indent)
        elif name in {"schema_kind", "schema_includes"}:
            continue
        elif isinstance(value, dict) and value:
            yield f"{indent}{_scalar(name)}:"
            yield from _table_lines(name, value, f"{indent}  ")
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            yield f"{indent}{_scalar(name)}:"
            yield from (f"{indent}  - {_flow(each)}" for each in value)
        else:
            yield f"{indent}{_scalar(name)}: {_flow(value)}"


def _schema_lines(parent: str, table: Settings, indent: str) -> Iterator[str]:
    """A schema file and those that it includes: what they hold is recorded."""
    suffix = _SUFFIXES.get(str(table.get("schema_kind")), "schema")
    yield f"{indent}schema: {_scalar(f'{parent}.{suffix}')}  # a file with this content:"
    yield from _content_lines(str(table["schema_text"]), indent)
    includes = table.get("schema_includes")
    for name, content in includes.items() if isinstance(includes, dict) else ():
        yield f"{indent}# which includes {printable(name)}, a file with this content:"
        yield from _content_lines(str(content), indent)


def _content_lines(content: str, indent: str) -> Iterator[str]:
    return (f"{indent}#   {printable(line)}" for line in content.splitlines())


def _flow(value: Setting) -> str:
    """A value on one line, in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return _scalar(value)


def _scalar(value: bool | int | float | str | None) -> str:
    """Plain where nobody can take it for something else, else quoted as in JSON."""
    if isinstance(value, str) and value.replace("_", "a").isalnum() and value[:1].isalpha():
        is_plain = value.isascii() and value not in {"true", "false", "null", "yes", "no", "on"}
        return value if is_plain else json.dumps(value)
    return json.dumps(value)
