"""The routes: metrics, health, version and the read-only API."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, TypeVar

import msgspec
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from penstock import __version__
from penstock.errors import PenstockError
from penstock.serve.api_values import Json, feed_json, feeds_json, windows_json
from penstock.serve.exposition import CONTENT_TYPE, as_text
from penstock.serve.facts_keeper import FactsKeeper
from penstock.serve.feed_facts import FeedFacts
from penstock.serve.feed_reader import FeedReader
from penstock.serve.feed_view import MetricOptions
from penstock.serve.guard import Guard
from penstock.serve.health import health_of
from penstock.serve.metric_values import metrics_of
from penstock.serve.quarantine_view import QuarantineViews

MOST_WINDOWS = 500
FEW_WINDOWS = 50
SLOW = "the lake is slow; ask again in a moment"
LIST = """\
Penstock {version}. Everything here is read-only.

/metrics                     for Prometheus; ?partitions=1 shows partitions one by one
/livez  /healthcheck         200 while this process answers
/readyz                      200 while the lake answers and a feed has an owner that is alive
/version
/api/feeds                   all feeds in brief
/api/feeds/FEED              one feed with its partitions and datasets
/api/feeds/FEED/windows      its last windows; ?limit=N
/api/feeds/FEED/errors       its quarantine, without payloads
"""

T = TypeVar("T")
Page: TypeAlias = Callable[[Request], Awaitable[Response]]


class Pages:
    """What every route answers. Whatever reads the lake runs on a thread, not in the event loop."""

    def __init__(self, keeper: FactsKeeper, options: MetricOptions) -> None:
        self._keeper = keeper
        self._options = options
        self._quarantine = QuarantineViews()

    async def index(self, _request: Request) -> Response:
        """A list of the other addresses."""
        return PlainTextResponse(LIST.format(version=__version__))

    async def live(self, _request: Request) -> Response:
        """This answer is all there is to it."""
        return PlainTextResponse("alive\n")

    async def version(self, _request: Request) -> Response:
        """Which version this is."""
        return _json({"name": "penstock", "version": __version__})

    async def ready(self, _request: Request) -> Response:
        """Whether the lake answers and some feed can work."""
        found = health_of(await _beside(self._keeper.facts))
        return _json(msgspec.to_builtins(found), 200 if found.ready else 503)

    async def metrics(self, request: Request) -> Response:
        """All metrics as text."""
        wanted = request.query_params.get("partitions", "0") not in ("", "0", "false")
        options = MetricOptions(self._options.most_datasets, self._options.partitions or wanted)
        facts = await _beside(self._keeper.facts)
        text = await _beside(lambda: as_text(metrics_of(facts, options)))
        return Response(text, media_type=None, headers={"Content-Type": CONTENT_TYPE})

    async def feeds(self, _request: Request) -> Response:
        """All feeds in brief."""
        return _json(feeds_json(await _beside(self._keeper.facts)))

    async def feed(self, request: Request) -> Response:
        """One feed."""
        found = await self._facts_of(request)
        return found if isinstance(found, Response) else _json(feed_json(found[1]))

    async def windows(self, request: Request) -> Response:
        """The last windows of a feed."""
        limit = request.query_params.get("limit", str(FEW_WINDOWS))
        if not limit.isascii() or not limit.isdecimal() or not 0 < int(limit[:9]) <= MOST_WINDOWS:
            return _problem(400, f"limit is a number from 1 to {MOST_WINDOWS}")
        found = await self._facts_of(request)
        if isinstance(found, Response):
            return found
        windows = await _beside(partial(self._keeper.windows, found[1].feed, int(limit)))
        return _problem(503, SLOW) if windows is None else _json(windows_json(found[1], windows))

    async def errors(self, request: Request) -> Response:
        """The quarantine of a feed."""
        found = await self._facts_of(request)
        if isinstance(found, Response):
            return found
        view = await _beside(partial(self._quarantine.view, *found))
        return _problem(503, SLOW) if view is None else _json(view)

    async def _facts_of(self, request: Request) -> Response | tuple[FeedReader, FeedFacts]:
        """The feed of the path with its reader, or why it cannot be shown."""
        name = request.path_params["feed"]
        reader = self._keeper.reader(name)
        if reader is None:
            return _problem(404, "there is no such feed in the configuration")
        lake = await _beside(self._keeper.facts)
        facts = lake.feed(name)
        if facts is None or name in lake.unreadable:
            return _problem(503, lake.unreadable.get(name) or lake.lake or SLOW)
        return reader, facts


def application(
    keeper: FactsKeeper,
    options: MetricOptions,
    token: str | None = None,
    hosts: frozenset[str] | None = None,
) -> Guard:
    """The whole app behind its guard."""
    pages = Pages(keeper, options)
    routes = {
        "/": pages.index,
        "/livez": pages.live,
        "/healthcheck": pages.live,
        "/readyz": pages.ready,
        "/version": pages.version,
        "/metrics": pages.metrics,
        "/api/feeds": pages.feeds,
        "/api/feeds/{feed}": pages.feed,
        "/api/feeds/{feed}/windows": pages.windows,
        "/api/feeds/{feed}/errors": pages.errors,
    }
    app = Starlette(
        routes=[Route(path, _told(page), methods=["GET"]) for path, page in routes.items()]
    )
    return Guard(app, token, hosts)


def _told(page: Page) -> Page:
    """A page whose errors are answers: what the lake said, and nothing of the code."""

    async def answer(request: Request) -> Response:
        try:
            return await page(request)
        except PenstockError as error:
            return _problem(503, str(error))

    return answer


async def _beside(act: Callable[[], T]) -> T:
    """Run something that may wait on a thread of its own."""
    return await to_thread.run_sync(act, abandon_on_cancel=True)


def _json(value: Json, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value) + b"\n", status, media_type="application/json")


def _problem(status: int, sentence: str) -> Response:
    return _json({"error": sentence}, status)
