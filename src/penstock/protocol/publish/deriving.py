"""Deriving files of a decided window again: by the configuration and the schemas of then."""

from collections.abc import Iterable

from penstock.errors import DecidedDataLost
from penstock.model.entries import Window
from penstock.model.file_groups import FileGroup, file_groups, parts_by_ranges
from penstock.model.layout import Layout
from penstock.model.manifest import Content, ManifestFile
from penstock.model.row_config import RowConfig, changes, settings_in
from penstock.model.window import StageOrder
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.row_configs import read_config
from penstock.protocol.publish.errors import ConfigChanged


def check_same_config(journal: FeedJournal, body: Window, now: RowConfig | None) -> None:
    """Raise `ConfigChanged` if the present configuration would make other rows.

    Entries of formats before 4 do not say what they were made with; they are not judged. Digests of
    two versions may differ for keys that one of them did not have, so the texts decide.
    """
    if now is None or body.config in ("", now.digest):
        return
    then = read_config(journal, body.config)
    if then is None:
        raise ConfigChanged(journal.layout.feed, body.window, ())
    changed = changes(then, settings_in(now.text))
    if body.file_plan.compression:  # files are compressed as they were then, whatever is wanted now
        changed = tuple(each for each in changed if each.key != "compression")
    if changed:
        raise ConfigChanged(journal.layout.feed, body.window, changed)


def groups_of_files(body: Window, files: Iterable[ManifestFile]) -> tuple[FileGroup, ...]:
    """The file groups of a window that some of its files belong to.

    Raises `DecidedDataLost` for a file that the plan of its window does not have.
    """
    groups = file_groups(body.ranges, body.file_plan)
    parts = parts_by_ranges(groups)
    numbers = set()
    for file in files:
        if file.ranges not in parts:
            raise DecidedDataLost(body.window, f"{file.handle.final!r} is not of its file groups")
        numbers.add(parts[file.ranges])
    return tuple(group for group in groups if group.number in numbers)


def of_groups(content: Content, groups: tuple[FileGroup, ...]) -> Content:
    """The files and the evidence of a window that belong to some of its file groups."""
    parts = parts_by_ranges(groups)
    ranges = {covered for group in groups for covered in group.ranges}
    return Content(
        files=tuple(file for file in content.files if file.ranges in parts),
        evidence=tuple(seen for seen in content.evidence if seen.range in ranges),
    )


def order_again(layout: Layout, body: Window, groups: tuple[FileGroup, ...]) -> StageOrder:
    """The order to read some file groups of a decided window again, so that the same rows and
    columns come out, in the same files.

    The times that were believed then are believed again. Entries before format 4 do not say with
    which schemas records were read, so theirs are read with the newest.
    """
    return StageOrder(
        layout.feed,
        body.window,
        layout.staging,
        tuple(covered for group in groups for covered in group.ranges),
        body.generation,
        body.planned_s,
        body.counts.largest_bytes,
        decided=True,
        schemas=body.schemas if body.config else None,
        reading=body.reading,
        file_plan=body.file_plan,
        some_groups=groups,
    )
