"""What feeds have cost, by feed, topic, dataset or team: sums of what the entries record.

The sums of a whole feed are in its state. Those since a time are made of the entries since then,
which are found by halving, and of which only the costs are decoded.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, assert_never

import msgspec

from penstock.api.price import Used
from penstock.model.names import encode_component
from penstock.model.spec import FeedSpec
from penstock.model.value import Value
from penstock.model.window_cost import Spent, WindowCost, add_spent, added_spent
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.state import FeedState

By = Literal["feed", "topic", "dataset", "team"]
Amount = Callable[[Used], float | None]  # what something costs; None: nothing has a price


class Spending(Value, frozen=True):
    """What some windows of a feed took; of `unknown` further ones nobody has written it down."""

    feed: str
    windows: int = 0
    unknown: int = 0
    datasets: tuple[Spent, ...] = ()
    topics: tuple[Spent, ...] = ()


class CostLine(Value, frozen=True, kw_only=True):
    """One line: of a feed, of a topic or dataset of it, or of a team in all feeds.

    Names are None for what belongs to no topic, dataset or team; figures where they are unknown.
    """

    feed: str | None = None
    topic: str | None = None
    dataset: str | None = None
    team: str | None = None
    windows: int | None = None
    unknown_windows: int | None = None
    records: int | None = None
    rows: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    files: int | None = None
    requests: int | None = None
    task_s: float | None = None
    amount: float | None = None
    currency: str | None = None


class _Brief(msgspec.Struct):
    """Just what a cost needs of a body; a window of an older format has none."""

    kind: str
    cost: WindowCost | None = None


class _BriefEntry(msgspec.Struct):
    body: _Brief


_decoder = msgspec.json.Decoder(_BriefEntry)


def spending(feed: str, state: FeedState) -> Spending:
    """What all windows of a feed took."""
    return Spending(
        feed,
        state.costed_windows,
        state.windows - state.costed_windows,
        added_spent(state.spent_datasets.values()),
        added_spent(state.spent_topics.values()),
    )


def spending_since(feed: str, search: EntrySearch, time_s: float) -> Spending:
    """What the windows took that were decided since a time."""
    begin = search.since(time_s)
    bodies = (each.body for each in search.in_brief(begin, _decoder.decode))
    windows = unknown = 0
    datasets: dict[str, Spent] = {}
    topics: dict[str, Spent] = {}
    for body in bodies:
        if body.kind != "window":
            continue
        if body.cost is None:
            unknown += 1
            continue
        windows += 1
        add_spent(datasets, body.cost.datasets)
        add_spent(topics, body.cost.topics)
    every = added_spent(datasets.values()), added_spent(topics.values())
    return Spending(feed, windows, unknown, *every)


def cost_lines(
    by: By, found: Sequence[Spending], feeds: Iterable[FeedSpec], amount: Amount, currency: str
) -> list[CostLine]:
    """The lines, in the order of feeds and names."""
    match by:
        case "feed":
            return [_feed_line(each, amount, currency) for each in found]
        case "team":
            return list(_team_lines(found, teams_of(feeds), amount, currency))
        case "topic":
            named = [(Used(feed=e.feed, topic=s.name), s) for e in found for s in e.topics]
        case "dataset":
            named = [(Used(feed=e.feed, dataset=s.name), s) for e in found for s in e.datasets]
        case _ as never:
            assert_never(never)
    return [_line(spent, names, amount, currency) for names, spent in named]


def teams_of(feeds: Iterable[FeedSpec]) -> dict[tuple[str, str], str]:
    """The teams of datasets, as the configuration has them now, by feed and directory."""
    return {
        (feed.name, encode_component(each.route)): each.team
        for feed in feeds
        for each in feed.datasets
        if each.team
    }


def _feed_line(found: Spending, amount: Amount, currency: str) -> CostLine:
    if found.unknown and not found.windows:  # what nobody has measured is not 0
        return CostLine(feed=found.feed, windows=0, unknown_windows=found.unknown)
    whole = sum(found.topics, Spent(""))
    line = _line(whole, Used(feed=found.feed), amount, currency)
    return msgspec.structs.replace(line, windows=found.windows, unknown_windows=found.unknown)


def _team_lines(
    found: Iterable[Spending],
    teams: dict[tuple[str, str], str],
    amount: Amount,
    currency: str,
) -> Iterator[CostLine]:
    parts = [
        msgspec.structs.replace(spent, name=teams.get((each.feed, spent.name), ""))
        for each in found
        for spent in each.datasets
    ]
    for spent in added_spent(parts):
        yield _line(spent, Used(team=spent.name), amount, currency)


def _line(spent: Spent, named: Used, amount: Amount, currency: str) -> CostLine:
    """A line about what has these names, which were all that was known of it."""
    used = msgspec.structs.replace(
        named,
        records=spent.records,
        rows=spent.rows,
        read_bytes=spent.read_bytes,
        written_bytes=spent.written_bytes,
        files=spent.files,
        requests=spent.requests,
        task_s=round(spent.task_us / 1_000_000, 6),
    )
    price = amount(used)
    return CostLine(
        feed=used.feed or None,
        topic=used.topic or None,
        dataset=used.dataset or None,
        team=used.team or None,
        records=used.records,
        rows=used.rows,
        read_bytes=used.read_bytes,
        written_bytes=used.written_bytes,
        files=used.files,
        requests=used.requests,
        task_s=used.task_s,
        amount=price,
        currency=None if price is None else currency,
    )
