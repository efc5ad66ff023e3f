"""How commands ask Kafka: a small JVM with Kafka's own client, while the command runs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli.commands.run import connector_jars, revealed
from penstock.config.clients import reveal_kafka, reveal_spark
from penstock.config.places import java_home
from penstock.model.spec import LakeSpec
from penstock.ports.source.kafka.admin import KafkaAdmin, within
from penstock.spark.gateway import JvmSpec, kafka_java_options, kafka_jvm
from penstock.spark.java import find_java

LIMIT_MS = 15_000  # for commands; a running feed has Kafka's own, longer limit


@contextmanager
def asking_kafka(spec: LakeSpec) -> Iterator[KafkaAdmin]:
    """An admin client with a limit on every call, unless the configuration sets its own."""
    kafka = revealed(reveal_kafka(spec.kafka, os.environ))
    settings = revealed(reveal_spark(spec.spark, os.environ))
    java = find_java(java_home()).path
    jvm_spec = JvmSpec(java, connector_jars(spec), settings, kafka_java_options(kafka))
    with kafka_jvm(jvm_spec) as jvm:
        admin = KafkaAdmin(jvm, within(kafka, LIMIT_MS))
        try:
            yield admin
        finally:
            admin.close()
