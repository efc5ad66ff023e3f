"""Rows of days and hours that are final already: how many, and the steps that mark them. Pure."""

import msgspec

from penstock.model.final_days import Frontier
from penstock.model.manifest import Content, Group, groups_of
from penstock.model.steps import DELIVER, deliver_late
from penstock.protocol.feed_book.state import FeedState


def late_rows(state: FeedState, content: Content) -> dict[str, int]:
    """The rows of a content that come late, by dataset."""
    found: dict[str, int] = {}
    for file in content.files:
        frontier = state.final.get(file.dataset)
        if frontier is not None and frontier.final_directories(file.handle.final):
            found[file.dataset] = found.get(file.dataset, 0) + file.evidence.count
    return dict(sorted(found.items()))


def delivered_groups(state: FeedState, content: Content) -> tuple[Group, ...]:
    """The groups of what is delivered; those with late rows leave a mark first."""
    late = late_rows(state, content)
    return tuple(
        _marked(group, state.final[group.dataset]) if group.dataset in late else group
        for group in groups_of(content, DELIVER)
    )


def _marked(group: Group, frontier: Frontier) -> Group:
    steps = deliver_late(frontier.days_before, frontier.hours_before)
    return msgspec.structs.replace(group, steps=steps)
