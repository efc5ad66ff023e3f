"""What the contract suites of stores share."""

from collections.abc import Iterator

import pytest

from penstock.testing.object_store_server import EmbeddedObjectStore
from tests.helpers.object_stores import running_object_store


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedObjectStore]:
    """An object store for the whole run, started when first needed.

    Give every test a prefix of its own, and mark its module `xdist_group("objects")`.
    """
    with running_object_store(tmp_path_factory.mktemp("objects")) as server:
        yield server
