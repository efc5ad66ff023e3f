"""A source behind a door whose records are a list in this process, for tests of commands."""

from pathlib import Path

import pytest

from penstock.api.source import SourceTools
from penstock.model.spec import FeedSpec
from penstock.testing.list_source import ListCluster, ListSource
from tests.helpers.installed_packages import install_package

CLUSTERS: list[ListCluster] = []  # the one of the test that runs


def open_listed(feed: FeedSpec, _tools: SourceTools) -> ListSource:
    """The source of a feed."""
    return ListSource(feed, CLUSTERS[-1])


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ListCluster:
    """Install the plug-in `listed`; its cluster, which is empty."""
    entries = {"penstock.sources": {"listed": f"{__name__}:open_listed"}}
    install_package(folder / "packages", "listed-source", entries, {})
    monkeypatch.syspath_prepend(str(folder / "packages"))
    cluster = ListCluster()
    monkeypatch.setattr(f"{__name__}.CLUSTERS", [cluster])
    return cluster
