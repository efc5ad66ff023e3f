"""`penstock serve`: metrics, health and the API, from the lake alone. Needs no JVM."""

import argparse
import signal
import sys
import threading

from penstock.cli.common import chosen_feeds, configured
from penstock.cli.output_streams import say
from penstock.cli.serving import facts_keeper, serving_of


def run(chosen: argparse.Namespace) -> int:
    """Answer until a signal comes; then end at once, whatever clients do."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    keeper = facts_keeper(spec, feeds)
    serving = serving_of(chosen)
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())

    def failed(sentence: str) -> None:
        say(sentence, sys.stderr)
        over.set()

    with serving.server(keeper, failed) as server:
        say(f"answering on {server.url}", sys.stderr)
        over.wait()
    return 0
