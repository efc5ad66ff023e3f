"""What a deep audit works with: Spark, and the source of each feed."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from penstock.audit.deep import DeepTools
from penstock.cli.audit_progress import Ticker
from penstock.cli.client_settings import source_tools
from penstock.cli.commands.run import starting_session
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.ports.source.kafka.recheck import KafkaRecheck
from penstock.ports.source.open_source import open_source
from penstock.ports.source.source_recheck import SourceRecheck
from penstock.spark.parallel_map import SparkParallelMap


@contextmanager
def opened_tools(spec: LakeSpec, ticker: Ticker) -> Iterator[Callable[[str], DeepTools]]:
    """What audits a feed, by its name: Spark for the files, and its source.

    Spark starts while the first journal is read.
    """
    session = starting_session(spec, "audit")
    parallel = SparkParallelMap(session.get, ticker)
    feeds = {feed.name: feed for feed in spec.feeds}
    with ExitStack() as opened:
        opened.callback(session.stop)

        def again(feed: FeedSpec) -> KafkaRecheck | SourceRecheck:
            tools = source_tools(spec, feed, session.get)
            if feed.source.is_kafka:
                return KafkaRecheck(session.get, tools.options, parallel.watch)
            return SourceRecheck(lambda: open_source(feed, tools))

        def tools_of(name: str) -> DeepTools:
            side = again(feeds[name])
            opened.callback(side.close)
            return DeepTools(parallel, side, time.monotonic, ticker)

        yield tools_of
