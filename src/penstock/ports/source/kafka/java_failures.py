"""Exceptions of Kafka's client in a JVM, as errors of ours, each with one cause. Driver only."""

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.kafka.hidden_values import hidden, secrets_in
from penstock.ports.source.kafka.refusals import refusal_of, said
from penstock.spark.errors import Interrupted

NOT_THERE = frozenset({"UnknownTopicOrPartitionException", "UnknownTopicIdException"})
MOST_CAUSES = 10


def failure_of(error: BaseException, options: Mapping[str, str]) -> KafkaUnavailable:
    """What a failed call means for whoever reads it. Java's traces are of no use, and left out."""
    servers = options.get("bootstrap.servers", "")
    if isinstance(error, Interrupted):
        return KafkaUnavailable(servers, "we were interrupted while waiting")
    if not isinstance(error, Py4JJavaError):
        return KafkaUnavailable(servers, "the JVM with Kafka's client has ended")
    causes = [hidden(cause, secrets_in(options)) for cause in causes_of(error)]
    return refusal_of(causes, options) or KafkaUnavailable(servers, said(causes[-1]))


def causes_of(error: Py4JJavaError) -> list[str]:
    """A Java exception and its causes, the outermost first, each as its class and message."""
    found: list[str] = []
    cause = error.java_exception
    while cause is not None and len(found) < MOST_CAUSES:
        found.append(f"{cause.getClass().getName()}: {cause.getMessage() or ''}".rstrip(": "))
        cause = cause.getCause()
    return found


def cause_of(error: Py4JJavaError) -> tuple[str, str]:
    """The innermost cause of a Java exception: its plain name, and a sentence of one line."""
    sentence = said(causes_of(error)[-1])
    return sentence.partition(":")[0], sentence
