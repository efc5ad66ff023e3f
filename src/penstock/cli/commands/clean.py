"""`penstock clean`: what nobody needs any more of a feed, and its removal."""

import argparse
from collections import Counter
from collections.abc import Iterator

import msgspec

from penstock.care.clean import Garbage, clean, garbage, staged_of_newest
from penstock.care.unnamed_objects import window_of_key
from penstock.cli.common import feed_named, print_rows
from penstock.datapath.codec.shared.code_cache import old_code, remove_code
from penstock.model.plural import number_of


def run(chosen: argparse.Namespace) -> int:
    """Print what is garbage, by kind and window; remove it if asked to."""
    _, _, journal = feed_named(chosen, chosen.feed)
    found, code = garbage(journal, thorough=True), old_code()
    things = Counter([*_things(found), *(("code", None) for _ in code)])
    rows = [
        {"kind": kind, "window": window, "objects": count}
        for (kind, window), count in things.items()
    ]
    removed: dict[str, int] = {}
    if chosen.execute:
        removed = msgspec.to_builtins(clean(journal, thorough=True)) | {"code": remove_code(code)}
    epoch, kept = staged_of_newest(journal)
    if chosen.output == "json":
        newest = {"epoch": epoch, "staged": kept}
        row = {"feed": chosen.feed, "found": rows, "removed": removed, "newest": newest}
        print_rows([row], "json")
        return 0
    print_rows(rows, "text")
    print(_summary(things.total(), removed, is_removed=chosen.execute))
    if kept:
        print(_spared(epoch, kept))
    return 0


def _spared(epoch: int, kept: int) -> str:
    """What is left because its owner may live; whether it does, only another claim can tell."""
    stay, them = ("stays", "it") if kept == 1 else ("stay", "them")
    return (
        f"{number_of(kept, 'staged file')} of epoch {epoch}, the newest, {stay}: a run that is "
        f"alive may need {them}; if it has died, the next run removes {them}"
    )


def _things(found: Garbage) -> Iterator[tuple[str, str | None]]:
    """The kind and the window of everything that was found."""
    yield from (("staged", ref.window) for ref in found.staged)
    yield from (("manifests", window_of_key(key)) for key in found.manifests)
    yield from (("corrections", window_of_key(key)) for key in found.corrections)
    yield from (("halted", None) for _ in found.halted)


def _summary(found: int, removed: dict[str, int], *, is_removed: bool) -> str:
    if is_removed:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in removed.items() if count)
        return f"removed: {kinds}" if kinds else "nothing to remove"
    if found:
        return f"{number_of(found, 'object')} that nobody needs; --execute removes them"
    return "nothing to remove"
