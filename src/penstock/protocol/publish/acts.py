"""Acts: how each step is done. Anyone who folded the journal may run them, any number of times."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import assert_never

from penstock.errors import ForeignFile, OutcomeUnknown
from penstock.model.outcome import FinalState
from penstock.model.staged import StagedHandle
from penstock.model.steps import DeleteInputs, MarkComplete, MarkLate, PublishFiles, Step
from penstock.protocol.publish.group_work import Act, GroupWork, PartKey, StepTools
from penstock.protocol.publish.mark_acts import MarkCompleteAct, MarkLateAct

TRIES = 3


class PublishFilesAct:
    """Makes staged files visible under their final names."""

    def __init__(self, tools: StepTools) -> None:
        self._store = tools.store
        self._do_all = tools.do_all
        self._publish_all = tools.publish_all

    def is_done(self, work: GroupWork) -> bool:
        """Every file is there and is ours, and no staged source is left to bring it back."""
        return all(map(self._is_published, work.handles))

    def do(self, work: GroupWork) -> None:
        """Publish without overwriting, and consume the staged sources."""
        self._do_all([partial(self._store.publish, handle) for handle in work.handles])

    def do_many(self, works: Sequence[GroupWork]) -> set[PartKey]:
        """All files of all groups at once: each waits for the disk, or for an answer."""
        handles = [handle for work in works for handle in work.handles]
        # By name, so that files of one directory come together and share its sync.
        in_order = sorted(handles, key=lambda handle: handle.final)
        failed = self._publish_all(self._store, in_order)
        return {
            work.key for work in works if failed.isdisjoint(handle.final for handle in work.handles)
        }

    def _is_published(self, handle: StagedHandle) -> bool:
        seen = self._store.look(handle)
        if seen.final is FinalState.FOREIGN:
            raise ForeignFile(handle.final, handle.checksum, "another content")
        return seen.is_done


class DeleteInputsAct:
    """Removes files that a compaction, retention or generation has replaced."""

    def __init__(self, tools: StepTools) -> None:
        self._store = tools.store
        self._do_all = tools.do_all

    def is_done(self, work: GroupWork) -> bool:
        """Final names are never used twice, so absence is proof."""
        return all(self._store.head(final) is None for final in work.inputs)

    def do(self, work: GroupWork) -> None:
        """Delete each; nothing happens to those that are gone already."""
        self._do_all([partial(self._store.delete, final) for final in work.inputs])

    def do_many(self, works: Sequence[GroupWork]) -> set[PartKey]:
        """As `do`, where one that fails does not stop the others."""
        left = self._store.delete_all([final for work in works for final in work.inputs])
        return {work.key for work in works if left.isdisjoint(work.inputs)}


def act_of(step: Step, tools: StepTools) -> Act:
    """The one dispatch from a step to what does it."""
    match step:
        case PublishFiles():
            return PublishFilesAct(tools)
        case DeleteInputs():
            return DeleteInputsAct(tools)
        case MarkComplete():
            return MarkCompleteAct(tools.store, tools.do_all)
        case MarkLate() as late:
            return MarkLateAct(tools.store, tools.do_all, late)
        case _ as never:
            assert_never(never)


def finish_step(act: Act, work: GroupWork) -> None:
    """Bring one step of a group to its end: look, act, and look again when no answer came."""
    doubt: OutcomeUnknown | None = None
    for _ in range(TRIES):
        if act.is_done(work):
            return
        try:
            act.do(work)
        except OutcomeUnknown as error:
            doubt = error
            continue
        return
    if doubt is not None and not act.is_done(work):
        raise doubt


def publish_group(tools: StepTools, work: GroupWork) -> None:
    """Bring all steps of a group to their end, in their order."""
    for step in work.steps:
        finish_step(act_of(step, tools), work)


def publish_at_once(tools: StepTools, works: Iterable[GroupWork]) -> set[PartKey]:
    """Do the steps of many groups, those that are equal at once; the parts that are all done.

    A window of hundreds of datasets has a few files of each. A group whose step is not certainly
    done goes no further here; its caller finishes it by itself.
    """
    going = list(works)
    for turn in range(max((len(work.steps) for work in going), default=0)):
        waiting: dict[Step, list[GroupWork]] = {}
        for work in going:
            if turn < len(work.steps):
                waiting.setdefault(work.steps[turn], []).append(work)
        failed: set[PartKey] = set()
        for step, asked in waiting.items():
            failed |= {work.key for work in asked} - act_of(step, tools).do_many(asked)
        going = [work for work in going if work.key not in failed]
    return {work.key for work in going}
