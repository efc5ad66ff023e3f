"""One real Kafka for all of these tests, and one real schema registry.

A session fixture lives once per process, and pytest-xdist has several. So every module here says
`pytestmark = pytest.mark.xdist_group("kafka")`, which sends all of them to one process; modules
that mostly start processes of their own say `"processes"`, and go to another one.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.config import places
from penstock.spark.jars import BROKER, CONNECTOR, REGISTRY, SPARK_AVRO, fetch, jar_paths
from penstock.spark.java import Java, find_java
from penstock.spark.session import open_session
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.registry_server import EmbeddedRegistry
from penstock.testing.secured_broker import SecuredKafka, secured_kafka

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def java() -> Java:
    return find_java(places.java_home())


@pytest.fixture(scope="session")
def broker_jars() -> list[Path]:
    """`make setup` has fetched them; a cache that was emptied since is filled again."""
    cache = places.jar_cache()
    options = places.java_network_options()
    fetch([BROKER], cache, java_home=places.java_home(), java_options=options)
    return jar_paths(BROKER, cache)


@pytest.fixture(scope="session")
def kafka(
    tmp_path_factory: pytest.TempPathFactory, broker_jars: list[Path], java: Java
) -> Iterator[EmbeddedKafka]:
    """A broker for the whole run. Give every test topics of its own."""
    with EmbeddedKafka(tmp_path_factory.mktemp("kafka"), broker_jars, java.path) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def client(kafka: EmbeddedKafka) -> KafkaClient:
    return KafkaClient(kafka.bootstrap)


@pytest.fixture(scope="session")
def secured(
    tmp_path_factory: pytest.TempPathFactory, broker_jars: list[Path], java: Java
) -> Iterator[SecuredKafka]:
    """A broker with security on, for the whole run. Give every test users and topics of its own."""
    place = tmp_path_factory.mktemp("secured")
    with secured_kafka(place, broker_jars, java.path, reauthenticate_ms=60_000) as found:
        yield found


@pytest.fixture(scope="session")
def registry_archive() -> Path:
    """The same for the schema registry."""
    cache = places.jar_cache()
    options = places.java_network_options()
    fetch([REGISTRY], cache, java_home=places.java_home(), java_options=options)
    [archive] = jar_paths(REGISTRY, cache)
    return archive


@pytest.fixture(scope="session")
def registry(
    tmp_path_factory: pytest.TempPathFactory, registry_archive: Path, java: Java
) -> Iterator[EmbeddedRegistry]:
    """A registry for the whole run. A test that stops it starts it again, and then it is empty."""
    place = tmp_path_factory.mktemp("registry")
    with EmbeddedRegistry(place, registry_archive, java.path) as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for the whole run. Its jobs are small, so that compiling them well costs more."""
    cache = places.jar_cache()
    options = places.java_network_options()
    fetch([SPARK_AVRO], cache, java_home=places.java_home(), java_options=options)
    jars = [*jar_paths(CONNECTOR, cache), *jar_paths(SPARK_AVRO, cache)]
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM}
    session = open_session("tests", settings, jars)
    yield session
    session.stop()
