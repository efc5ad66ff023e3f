"""What our user may do in Kafka, as the brokers say themselves. Driver only; changes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from penstock.ports.source.errors import KafkaUnavailable, NotAuthorized
from penstock.ports.source.kafka.java_failures import NOT_THERE, cause_of, failure_of
from penstock.spark.errors import Interrupted

NOT_ALLOWED = "TopicAuthorizationException"
READ = "READ"


class KafkaRights:
    """Asks through an open admin client. Every call asks the cluster again."""

    def __init__(self, jvm: Any, client: Any, options: Mapping[str, str]) -> None:
        self._jvm = jvm
        self._client = client
        self._options = options
        self._servers = options.get("bootstrap.servers", "")

    def check_absent(self, topics: Sequence[str]) -> None:
        """Return if none of these topics is there; raises `NotAuthorized` if we may not see one.

        Raises `KafkaUnavailable` if one of them is there after all.
        """
        found = self._operations(topics)
        refused = [name for name, may in found.items() if may is None]
        if refused:
            raise NotAuthorized(self._servers, "topic", refused, "see")
        there = [name for name, may in found.items() if may]
        if there:
            why = f"{', '.join(there)} was not listed a moment ago, and is there now"
            raise KafkaUnavailable(self._servers, why)

    def check_reading(self, topics: Sequence[str]) -> None:
        """Raise `NotAuthorized` if there are topics of these that we may not read."""
        found = self._operations(topics)
        refused = [name for name, may in found.items() if may is None or (may and READ not in may)]
        if refused:
            raise NotAuthorized(self._servers, "topic", refused)

    def check_group(self, group: str) -> None:
        """Raise `NotAuthorized` if we may not commit offsets to a consumer group."""
        options = self._jvm.org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions()
        with_rights = options.includeAuthorizedOperations(True)
        asked = self._client.describeConsumerGroups(self._list_of([group]), with_rights)
        try:
            may = asked.describedGroups().get(group).get().authorizedOperations()
            told = f"[{READ}]" if may is None else str(may.toString())
        except (Py4JError, OSError, Interrupted) as error:
            raise failure_of(error, self._options) from error
        if READ not in told:
            raise NotAuthorized(self._servers, "group", [group], "use")

    def _operations(self, topics: Sequence[str]) -> dict[str, str | None]:
        """What we may do with each topic, as Java writes it.

        Empty: it is not there. None: we may not see it, whether it is there or not. A broker that
        does not tell counts as one that allows to read.
        """
        options = self._jvm.org.apache.kafka.clients.admin.DescribeTopicsOptions()
        with_rights = options.includeAuthorizedOperations(True)
        asked = self._client.describeTopics(self._list_of(topics), with_rights).topicNameValues()
        found: dict[str, str | None] = {}
        for name in topics:
            try:
                may = asked.get(name).get().authorizedOperations()
                found[name] = f"[{READ}]" if may is None else str(may.toString())
            except (Py4JError, OSError, Interrupted) as error:
                cause = cause_of(error)[0] if isinstance(error, Py4JJavaError) else ""
                if cause != NOT_ALLOWED and cause not in NOT_THERE:
                    raise failure_of(error, self._options) from error
                found[name] = None if cause == NOT_ALLOWED else ""
        return found

    def _list_of(self, names: Sequence[str]) -> Any:
        found = self._jvm.java.util.ArrayList()
        for name in names:
            found.add(name)
        return found
