"""The real parts that all cases share: brokers, Spark, a scratch directory. Started when needed."""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from penstock.config import places
from penstock.spark.jars import BROKER, CONNECTOR, fetch, jar_paths
from penstock.spark.java import Java, find_java
from penstock.spark.session import open_session
from penstock.testing.broker import CLUSTER_ID, EmbeddedKafka
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from tests.certify.lake_on_gcs import GcsPlace
from tests.certify.lake_on_s3 import BucketPlace, S3Place
from tests.certify.spark_cluster import SparkCluster
from tests.certify.spark_hosts import SparkHosts
from tests.helpers.hdfs_servers import running_hdfs
from tests.helpers.object_stores import BUCKET, running_gcs, running_object_store
from tests.integration.processes import search_path

OTHER_ID = "YW5vdGhlckNsdXN0ZXItMg"
THREE_ID = "dGhyZWVCcm9rZXJzLTAwMw"


class RememberingClient(KafkaClient):
    """A client that reads a topic before it takes records away, so that the oracle knows them."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._remembered: dict[str, dict[tuple[int, int], ReadRecord]] = {}

    def remember(self, topic: str) -> None:
        """Keep what a reader of committed records sees now."""
        kept = self._remembered.setdefault(self.topic_id(topic), {})
        kept.update({(record.partition, record.offset): record for record in self.read_all(topic)})

    def delete_topic(self, topic: str) -> None:
        """Remember, then delete."""
        self.remember(topic)
        super().delete_topic(topic)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Remember, then delete."""
        self.remember(topic)
        super().delete_records(topic, partition, before)

    def records_of(self, topic: str, topic_id: str) -> list[ReadRecord]:
        """Everything that ever was in a topic of this very id, as far as it was seen."""
        found = dict(self._remembered.get(topic_id, {}))
        if topic in self._admin.list_topics(timeout=60).topics and self.topic_id(topic) == topic_id:
            now = {(record.partition, record.offset): record for record in self.read_all(topic)}
            found = now | found
        return sorted(found.values())


class Parts:
    """Brokers, sessions and directories, each made when the first case asks for it."""

    def __init__(self, own_lake: str = "", store: str = "s3") -> None:
        self._own_lake = own_lake
        self._store = store
        self._ends = ExitStack()
        self.scratch = Path(tempfile.mkdtemp(prefix="penstock-certify-"))
        self._ends.callback(shutil.rmtree, self.scratch, ignore_errors=True)
        os.environ["PYTHONPATH"] = search_path()  # Spark's workers import our faulty stores

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.close()

    def later(self, act: Callable[[], object]) -> None:
        """Something to be done when all is over."""
        self._ends.callback(act)

    def directory(self, name: str) -> Path:
        """A new directory."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))

    @cached_property
    def java(self) -> Java:
        """The Java that everything runs on."""
        return find_java(places.java_home())

    @cached_property
    def kafka(self) -> EmbeddedKafka:
        """The broker of nearly all cases."""
        return self._start("kafka")

    @cached_property
    def other(self) -> EmbeddedKafka:
        """Another cluster, which may be killed, and cleans compacted topics all the time."""
        return self._start("other", cluster_id=OTHER_ID)

    @cached_property
    def three(self) -> EmbeddedKafka:
        """Three brokers."""
        cluster = self._start("three", cluster_id=THREE_ID, brokers=3)
        self.later(lambda: kill_all(cluster))
        return cluster

    @cached_property
    def client(self) -> RememberingClient:
        """A client of the broker of nearly all cases."""
        return RememberingClient(self.kafka.bootstrap)

    @cached_property
    def other_client(self) -> RememberingClient:
        """A client of the other cluster."""
        return RememberingClient(self.other.bootstrap)

    @cached_property
    def three_client(self) -> RememberingClient:
        """A client of the three brokers."""
        return RememberingClient(self.three.bootstrap)

    def client_of(self, cluster_id: str) -> RememberingClient:
        """The client of the cluster that a journal is bound to."""
        if cluster_id == OTHER_ID:
            return self.other_client
        return self.three_client if cluster_id == THREE_ID else self.client

    def kafka_of(self, cluster_id: str) -> EmbeddedKafka:
        """The brokers of the cluster that a journal is bound to."""
        if cluster_id == OTHER_ID:
            return self.other
        return self.three if cluster_id == THREE_ID else self.kafka

    @cached_property
    def spark(self) -> SparkSession:
        """A session that lives as long as all of this."""
        jars = jar_paths(CONNECTOR, places.jar_cache())
        session = open_session("certify", {"spark.master": "local[2]"}, jars)
        self.later(session.stop)
        return session

    @cached_property
    def s3_place(self) -> S3Place:
        """Where lakes on S3 lie: in a user's own bucket, else in an object store that it starts."""
        if self._own_lake:
            return S3Place.of_uri(self._own_lake)
        return S3Place(f"{BUCKET}/certify", self.objects.settings)

    @property
    def bucket_place(self) -> BucketPlace:
        """Where lakes in buckets lie, on the store that is tried."""
        return self.gcs_place if self._store == "gcs" else self.s3_place

    @cached_property
    def gcs_place(self) -> GcsPlace:
        """Where lakes on GCS lie: in the double of it."""
        return GcsPlace(f"{BUCKET}/certify", self.gcs.settings)

    @cached_property
    def gcs(self) -> EmbeddedGcs:
        """The double of GCS with a bucket."""
        return self._ends.enter_context(running_gcs(self.directory("gcs")))

    @cached_property
    def cluster(self) -> SparkCluster:
        """A standalone Spark cluster with two workers."""
        return self._ends.enter_context(SparkCluster(self.directory("cluster"), self.java))

    @cached_property
    def hosts(self) -> SparkHosts:
        """A standalone Spark cluster whose two hosts see none of these directories."""
        place = Path(tempfile.mkdtemp(prefix="penstock-hosts-"))
        self._ends.callback(shutil.rmtree, place, ignore_errors=True)
        return self._ends.enter_context(SparkHosts(place, self.java, [self.scratch]))

    @cached_property
    def objects(self) -> EmbeddedObjectStore:
        """An object store with a bucket."""
        return self._ends.enter_context(running_object_store(self.directory("objects")))

    @cached_property
    def hdfs(self) -> EmbeddedHdfs:
        """A name node and data nodes."""
        return self._ends.enter_context(running_hdfs(self.directory("hdfs")))

    @cached_property
    def proxy(self) -> FaultProxy:
        """A proxy in front of the object store."""
        return self._ends.enter_context(FaultProxy(self.objects.endpoint))

    def _start(self, name: str, brokers: int = 1, cluster_id: str = CLUSTER_ID) -> EmbeddedKafka:
        cache = places.jar_cache()
        options = places.java_network_options()
        fetch([BROKER], cache, java_home=places.java_home(), java_options=options)
        kafka = EmbeddedKafka(
            self.directory(name),
            jar_paths(BROKER, cache),
            self.java.path,
            brokers=brokers,
            cluster_id=cluster_id,
            properties={"log.cleaner.backoff.ms": "100"},
        )
        return self._ends.enter_context(kafka)


def kill_all(cluster: EmbeddedKafka) -> None:
    """Three that say goodbye at once would wait for each other."""
    for node in (1, 2, 3):
        with suppress(KeyError):  # a case may have killed it
            cluster.kill(node)
