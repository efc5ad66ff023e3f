"""Publishing an entry's groups: all steps of a dataset, one dataset after the other."""

from collections.abc import Callable
from functools import partial

from penstock.api.store import Store
from penstock.model.entries import Deciding, Replace, SealedEntry
from penstock.model.manifest import Content, Group, StepKind
from penstock.protocol.journal.journal import Fold, Journal
from penstock.protocol.journal.markers import Marker, create_marker
from penstock.protocol.publish.steps import DeleteInput, PublishFile, Step, finish_step
from penstock.runtime.surroundings import Acts, one_by_one


def load_content(journal: Journal, fold: Fold, sealed: SealedEntry) -> Content:
    """What an undone entry delivers now: its own files, or those that replaced lost ones."""
    content = journal.content_of(sealed.body)
    undone = fold.state.undone.get(sealed.number)
    for number in undone.replaced_by if undone is not None else ():
        replacing = journal.read(number)
        if replacing is not None and isinstance(replacing.body, Replace):
            content = with_replaced(content, journal.content_of(replacing.body))
    return content


def with_replaced(content: Content, replacing: Content) -> Content:
    """The content with files exchanged for those of the same final name."""
    anew = {file.handle.final: file for file in replacing.files}
    return Content(
        files=tuple(anew.get(file.handle.final, file) for file in content.files),
        evidence=content.evidence,
        quarantined=content.quarantined,
        inputs=content.inputs,
        records=content.records,
    )


def leave_tail_mark(journal: Journal, number: int, sha256: str) -> None:
    """Leave a mark beside the data that names an entry.

    Before anything of it becomes visible; and right after one that publishes nothing. Safe to
    repeat, and harmless if it comes late: only the newest mark is looked at.
    """
    create_marker(journal.store, journal.layout.tail(number), Marker(number, sha256))


def publish_group(
    store: Store,
    group: Group,
    content: Content,
    do_all: Callable[[Acts], None] = one_by_one,
) -> None:
    """Run a group's frozen list of steps to the end, in its order.

    The steps of one kind do not depend on each other. Inputs go only after everything that replaces
    them is there.
    """
    for kind in group.steps:
        steps = steps_of(store, group, content, kind)
        do_all([partial(finish_step, step) for step in steps])


def steps_of(store: Store, group: Group, content: Content, kind: StepKind) -> list[Step]:
    """The single steps of one kind of a group."""
    if kind == "publish_files":
        handles = [file.handle for file in content.files if file.dataset == group.dataset]
        # By name, so that those of one directory come together and share its sync.
        return [PublishFile(store, each) for each in sorted(handles, key=lambda h: h.final)]
    return [
        DeleteInput(store, taken.final)
        for taken in content.inputs
        if taken.dataset == group.dataset
    ]


def groups_named(sealed: SealedEntry, names: tuple[str, ...]) -> list[Group]:
    """The groups of an entry that are asked for."""
    if not isinstance(sealed.body, Deciding):
        return []
    return [group for group in sealed.body.groups if group.dataset in names]
