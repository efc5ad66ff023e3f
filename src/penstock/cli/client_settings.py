"""What clients of Kafka, of the registry and of other sources are opened with."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from penstock.api.source import SourceTools
from penstock.config.clients import (
    SERVERS,
    reveal_feed_kafka,
    reveal_registry,
    reveal_source,
)
from penstock.config.errors import ConfigInvalid
from penstock.config.places import jar_cache
from penstock.config.secrets import Secret
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from penstock.spark.gateway import kafka_java_options
from penstock.spark.jars import CONNECTOR, jar_paths


def source_options(spec: LakeSpec, feed: FeedSpec) -> dict[str, str]:
    """What the source of a feed is opened with, as plain text."""
    if feed.source.is_kafka:
        return revealed(reveal_feed_kafka(spec.kafka, feed, os.environ))
    return reveal_source(feed, os.environ)


def java_options(spec: LakeSpec) -> tuple[str, ...]:
    """The JVM options that the settings of Kafka need, those of all feeds together.

    A feed whose secrets are missing is left out: it is told so when its source is opened, and the
    others need not wait for it.
    """
    found: list[dict[str, str]] = []
    for feed in spec.feeds:
        with suppress(ConfigInvalid):
            found += [source_options(spec, feed)] if feed.source.is_kafka else []
    return kafka_java_options(*found)


def servers_of(spec: LakeSpec, feed: FeedSpec) -> str:
    """The brokers that a feed reads, as the configuration has them."""
    return {**spec.kafka, **feed.kafka}.get(SERVERS, "")


def source_tools(
    spec: LakeSpec,
    feed: FeedSpec,
    session: Callable[[], Any],
    tell: Callable[[str], None] = lambda _sentence: None,
) -> SourceTools:
    """All that the source of a feed is opened with. `tell` shows what is waited for."""
    now = partial(source_options, spec, feed)
    return SourceTools(session, now(), tell, now)


def revealed(secrets: Mapping[str, Secret]) -> dict[str, str]:
    """Secrets as plain text, only for the clients that need them."""
    return {key: value.reveal() for key, value in secrets.items()}


def registry_of(spec: LakeSpec) -> Registry | None:
    """The schema registry, if there is one."""
    found = reveal_registry(spec.registry, os.environ)
    return None if found is None else Registry(found.url, http_fetch(found))


def connector_jars(spec: LakeSpec) -> list[Any]:
    """The pinned connector, if Kafka is read, and unless the configuration names its own jars."""
    if not spec.uses_kafka or "spark.jars.packages" in spec.spark or "spark.jars" in spec.spark:
        return []
    return list(jar_paths(CONNECTOR, jar_cache()))
