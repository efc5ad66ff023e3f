"""Where records go, as the plug-ins of a feed say: datasets, directories, and further datasets.

What is built in comes through the same doors. Its answers are taken as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.api.doors import FORKS, PARTITIONS, ROUTES
from penstock.api.find import STOPS
from penstock.api.records import Records, Scalar
from penstock.datapath.shape.plugins.ask import (
    Answers,
    Question,
    WrongAnswer,
    ask,
    text_or_none,
)
from penstock.datapath.shape.plugins.made import asked_fields, made
from penstock.datapath.shape.route.builtin_partitions import FieldValue, TimePiece
from penstock.model.bad_records import BadRecord
from penstock.model.fork import ForkSpec
from penstock.model.plugin_call import PluginCall
from penstock.model.spec import FeedSpec, PartitionKey, RouteSpec

ROUTE_FAILED = "ROUTE_FAILED"
PARTITION_FAILED = "PARTITION_FAILED"
FORK_FAILED = "FORK_FAILED"

Mask = NDArray[np.bool_]


def check_places(feed: FeedSpec) -> None:
    """Make what decides where records go, with its options. Driver; raises a `PluginError`."""
    route_paths(feed.route)
    partition_paths(feed)
    fork_paths(feed.forks)


def plain_fields(
    fields: Mapping[str, Sequence[object] | pa.Array], paths: Iterable[str]
) -> dict[str, tuple[Scalar, ...]]:
    """The values of some fields, as plug-ins see them: scalars, and None for all else."""
    found: dict[str, tuple[Scalar, ...]] = {}
    for path in paths:
        column = fields[path]
        values = column.to_pylist() if isinstance(column, pa.Array) else column
        found[path] = tuple(map(_scalar, values))
    return found


def _scalar(value: object) -> Scalar:
    return value if isinstance(value, str | int | float) else None


# --- routes --------------------------------------------------------------------------------------


def route_paths(route: RouteSpec) -> tuple[str, ...]:
    """The fields that a route looks at."""
    return asked_fields(ROUTES, route.call)


def needs_a_value(route: RouteSpec) -> bool:
    """True if a record without a value cannot be routed."""
    return route.kind == "schema" or bool(route_paths(route))


def routed_values(route: RouteSpec, records: Records) -> Answers[object]:
    """What names the dataset of each record; what a plug-in failed for is bad."""
    chosen = made(ROUTES, route.call)
    if route.kind != "plugin":
        return Answers([*chosen.datasets(records)])
    found = ask(Question(route.name, ROUTE_FAILED, chosen.datasets, text_or_none), records)
    return Answers([*found.values], found.bad)


# --- partition values ----------------------------------------------------------------------------


def partition_paths(feed: FeedSpec) -> tuple[str, ...]:
    """The fields that name directories, or that a plug-in looks at to name them, of any dataset."""
    every = (*feed.partition, *(key for each in feed.datasets for key in each.partition or ()))
    paths = [path for key in every for path in asked_fields(PARTITIONS, key.call)]
    return tuple(dict.fromkeys(paths))


def to_be_asked(keys: Iterable[PartitionKey]) -> tuple[PartitionKey, ...]:
    """The levels whose values only a plug-in knows."""
    return tuple(
        key for key in keys if not isinstance(made(PARTITIONS, key.call), TimePiece | FieldValue)
    )


def partition_texts(key: PartitionKey, records: Records) -> Answers[str]:
    """The value of one level of directories for each record."""
    chosen = made(PARTITIONS, key.call)
    found = ask(Question(key.plugin, PARTITION_FAILED, chosen.texts, text_or_none), records)
    return Answers([*found.values], found.bad)


# --- forks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForkAnswers:
    """What fork functions said: per call, the further datasets of each record. `bad` have none."""

    datasets: Mapping[bytes, Sequence[frozenset[str] | None]]
    bad: list[BadRecord]

    def sure(self, count: int) -> Mask:
        """The records, of so many, for which no function failed."""
        found = np.ones(count, dtype=bool)
        found[[each.index for each in self.bad]] = False
        return found

    def named(self, fork: ForkSpec, call: PluginCall) -> Mask:
        """The records for which the function of a fork names its dataset."""
        answers = self.datasets[call.key]
        return np.fromiter((fork.to in (each or ()) for each in answers), bool, len(answers))


def fork_paths(forks: Iterable[ForkSpec]) -> tuple[str, ...]:
    """The fields that forks look at, in conditions and in functions."""
    paths: list[str] = []
    for fork in forks:
        paths += [condition.path for condition in fork.when]
        paths += asked_fields(FORKS, fork.call) if fork.call is not None else ()
    return tuple(dict.fromkeys(paths))


def forked(
    forks: Sequence[ForkSpec], dataset: str, records: Callable[[tuple[str, ...]], Records]
) -> ForkAnswers:
    """Ask the fork functions that are for records of a dataset, each once.

    `records` gives the records with the fields of some paths. A record for which one of them fails
    is bad, once.
    """
    found: dict[bytes, Sequence[frozenset[str] | None]] = {}
    bad: dict[int, BadRecord] = {}
    for fork in forks:
        call = fork.call
        if call is None or call.key in found or not fork.is_for(dataset):
            continue
        mine = frozenset(each.to for each in forks if each.call and each.call.key == call.key)
        function = made(FORKS, call)
        question = Question(call.name, FORK_FAILED, function.datasets, _among(mine))
        answers = ask(question, records(asked_fields(FORKS, call)))
        found[call.key] = answers.values
        bad = {each.index: each for each in answers.bad} | bad
    return ForkAnswers(found, [bad[index] for index in sorted(bad)])


def _among(allowed: frozenset[str]) -> Callable[[object], frozenset[str]]:
    def judge(answer: object) -> frozenset[str]:
        names = _names(answer, len(allowed))
        if not names <= allowed:
            raise WrongAnswer("it named a dataset that `to` does not have")
        return names

    return judge


def _names(answer: object, most: int) -> frozenset[str]:
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise WrongAnswer(f"it returned a {type(answer).__name__}, and no list of datasets")
    try:
        some = [name for name, _ in zip(answer, range(most + 1), strict=False)]
    except STOPS:
        raise
    except BaseException as error:
        raise WrongAnswer(f"its list of datasets raised {type(error).__name__}") from error
    if len(some) > most:
        raise WrongAnswer("it named more datasets than `to` has")
    if not all(isinstance(name, str) for name in some):
        raise WrongAnswer("it named a dataset that is not text")
    return frozenset(map(str.__str__, some))
