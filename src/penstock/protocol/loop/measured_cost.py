"""The cost of a window, of what its tasks have measured and of the files that it decides. Pure."""

from collections.abc import Callable, Iterable, Iterator

from penstock.model.manifest import Content, ManifestFile
from penstock.model.window import StagedWindow
from penstock.model.window_cost import (
    NO_DATASET,
    REQUESTS_PER_WINDOW,
    Spent,
    TaskSpent,
    WindowCost,
    added_spent,
    requests_of,
)


def cost_of(staged: StagedWindow, content: Content, elapsed_s: float) -> WindowCost | None:
    """What a window took; None if its tasks have read records and nobody has measured it."""
    has_read = any(seen.read.count for seen in content.evidence)
    if has_read and not staged.spent:
        return None

    def summed(
        of_task: Callable[[TaskSpent], str], of_file: Callable[[ManifestFile], str]
    ) -> tuple[Spent, ...]:
        own = Spent(NO_DATASET, requests=REQUESTS_PER_WINDOW)
        by_tasks = _by_tasks(staged.spent, of_task)
        return added_spent([own, *by_tasks, *_by_files(content.files, of_file)])

    return WindowCost(
        elapsed_ms=round(elapsed_s * 1_000),
        datasets=summed(lambda each: each.dataset, lambda file: file.dataset),
        topics=summed(lambda each: each.topic, lambda file: file.ranges[0].topic),
    )


def _by_tasks(parts: Iterable[TaskSpent], name: Callable[[TaskSpent], str]) -> Iterator[Spent]:
    for each in parts:
        yield Spent(name(each), each.records, each.read_bytes, round(each.task_s * 1_000_000))


def _by_files(
    files: Iterable[ManifestFile], name: Callable[[ManifestFile], str]
) -> Iterator[Spent]:
    for file in files:
        yield Spent(
            name(file),
            requests=requests_of(file.handle),
            files=1,
            written_bytes=file.handle.size_bytes,
            rows=file.evidence.count,
        )
