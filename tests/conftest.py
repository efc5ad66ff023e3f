"""What tests of several folders share."""

from collections.abc import Iterator

import pytest

from penstock.datapath.codec.protobuf.schema_compiler import compiler
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.object_store_server import EmbeddedObjectStore
from tests.helpers.hdfs_servers import running_hdfs
from tests.helpers.lane_plugin import LanePlugin
from tests.helpers.object_stores import running_gcs, running_object_store
from tests.helpers.warm_python import WarmPython

LONGEST_NAME = 60


@pytest.fixture(scope="session")
def warm_python() -> Iterator[WarmPython]:
    """A process that has imported the package, to fork others from."""
    python = WarmPython()
    yield python
    python.close()


@pytest.fixture
def warm_compilers(monkeypatch: pytest.MonkeyPatch, warm_python: WarmPython) -> None:
    """The compiler of Protobuf runs in forked processes, where those are not the subject."""
    monkeypatch.setattr(compiler, "subprocess", warm_python)


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedObjectStore]:
    """An object store for the whole run of a process, started when first needed.

    Give every test a prefix of its own.
    """
    with running_object_store(tmp_path_factory.mktemp("objects")) as server:
        yield server


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedHdfs]:
    """A name node and data nodes for the whole run of a process, started when first needed.

    Give every test a directory of its own.
    """
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as server:
        yield server


@pytest.fixture(scope="session")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedGcs]:
    """The double of GCS for the whole run of a process, started when first needed.

    Give every test a prefix of its own, or a bucket where the test changes its moods or rules.
    """
    with running_gcs(tmp_path_factory.mktemp("gcs")) as server:
        yield server


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long value is named by its beginning; some are megabytes, and so would be their tests."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_NAME:
        return f"{val[:LONGEST_NAME]!a}... of {len(val)}"
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make durations` uses it."""
    parser.addoption(
        "--store-durations", action="store_true", help="keep the seconds per file for later runs"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Order the files and sum up lanes, in every process."""
    config.addinivalue_line("markers", "xdist_group(name): runs on one worker with its like")
    config.pluginmanager.register(LanePlugin(config), "lanes")
