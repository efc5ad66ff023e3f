"""What the JVM for Kafka's client is started with, and how long its client may wait."""

import os
from pathlib import Path

import pytest

from penstock.ports.source.kafka.admin import within
from penstock.ports.source.kafka.hidden_values import secrets_in
from penstock.spark.gateway import (
    JvmSpec,
    class_path,
    kafka_java_options,
    with_java_options,
)

JAVA = Path("java")
PINNED = [Path("cache/kafka-clients.jar")]
URL = "sasl.oauthbearer.token.endpoint.url"


def test_the_users_own_class_path_comes_before_ours() -> None:
    settings = {"spark.driver.extraClassPath": f"mine{os.pathsep}more"}
    found = class_path(JvmSpec(JAVA, PINNED, settings))
    assert found is not None
    assert found[:3] == ["mine", "more", "cache/kafka-clients.jar"]
    assert any("slf4j-api" in entry for entry in found)


def test_jars_of_the_user_are_taken_when_they_lie_here() -> None:
    found = class_path(JvmSpec(JAVA, [], {"spark.jars": "a.jar, file:///b/c.jar"}))
    assert found is not None
    assert found[:2] == ["a.jar", "/b/c.jar"]


@pytest.mark.parametrize(
    "settings", [{"spark.jars": "hdfs://name/a.jar"}, {"spark.jars.packages": "a:b:1"}]
)
def test_what_only_spark_can_find_is_left_to_spark(settings: dict[str, str]) -> None:
    assert class_path(JvmSpec(JAVA, [], settings)) is None


def test_token_endpoints_are_allowed_by_name_and_nothing_else_is() -> None:
    assert kafka_java_options({"bootstrap.servers": "a:1"}) == ()
    kafka = {URL: "https://login/token", "sasl.oauthbearer.jwks.endpoint.url": "https://login/keys"}
    allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls"
    assert kafka_java_options(kafka) == (f"{allowed}=https://login/keys,https://login/token",)


def test_options_are_added_to_those_of_the_user_and_never_replace_one() -> None:
    ours = kafka_java_options({URL: "https://login/t?a=b&c"})
    assert with_java_options("-Xmx1g", ours) == f"-Xmx1g '{ours[0]}'"
    set_already = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://other"
    assert with_java_options(set_already, ours) == set_already
    assert with_java_options("-Xmx1g", ()) == "-Xmx1g"


def test_a_limit_is_set_unless_the_user_has_set_one() -> None:
    api, request = "default.api.timeout.ms", "request.timeout.ms"
    assert within({}, 15_000) == {api: "15000", request: "15000"}
    assert within({api: "90000"}, 15_000) == {api: "90000"}
    # Kafka refuses an api limit below that of a single request.
    assert within({request: "30000"}, 15_000) == {api: "30000", request: "30000"}
    assert within({request: "2000"}, 15_000) == {api: "15000", request: "2000"}


def test_secrets_of_the_client_are_known_so_that_no_error_repeats_them() -> None:
    options = {
        "bootstrap.servers": "a:1",
        "ssl.key.password": "hush-hush",
        "sasl.jaas.config": 'org.X required username="ann" password="sesame";',
        "ssl.truststore.location": "trust.jks",
    }
    found = secrets_in(options)
    assert found == [options["sasl.jaas.config"], "hush-hush", "sesame"]
