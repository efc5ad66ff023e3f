"""What the names of a feed stand for: looked up on the driver, before anything travels."""

from collections.abc import Iterable

import msgspec

from penstock.api.doors import CONVERTERS, FORKS, PARTITIONS, ROUTES
from penstock.api.find import load, offer
from penstock.model.convert_spec import ConvertSpec
from penstock.model.fork import ForkSpec
from penstock.model.spec import DatasetSpec, FeedSpec, PartitionKey, RouteSpec


def with_refs(feed: FeedSpec) -> FeedSpec:
    """The feed with a `ref` wherever it names something behind a door. Driver only.

    Everything named is imported and checked here. Raises a `PluginError`.
    """
    return msgspec.structs.replace(
        feed,
        route=_route(feed.route),
        partition=_keys(feed.partition),
        datasets=tuple(_dataset(each) for each in feed.datasets),
        forks=tuple(_fork(each) for each in feed.forks),
        convert=tuple(_step(each) for each in feed.convert),
    )


def _route(spec: RouteSpec) -> RouteSpec:
    ref = spec.ref or offer(ROUTES, spec.call.name)
    load(ROUTES, ref)
    return msgspec.structs.replace(spec, ref=ref)


def _keys(keys: Iterable[PartitionKey]) -> tuple[PartitionKey, ...]:
    return tuple(_key(each) for each in keys)


def _key(key: PartitionKey) -> PartitionKey:
    ref = key.ref or offer(PARTITIONS, key.call.name)
    load(PARTITIONS, ref)
    return msgspec.structs.replace(key, ref=ref)


def _dataset(spec: DatasetSpec) -> DatasetSpec:
    if spec.partition is None:
        return spec
    return msgspec.structs.replace(spec, partition=_keys(spec.partition))


def _fork(spec: ForkSpec) -> ForkSpec:
    if spec.call is None:
        return spec
    ref = spec.call.ref or offer(FORKS, spec.call.name)
    load(FORKS, ref)
    return msgspec.structs.replace(spec, call=msgspec.structs.replace(spec.call, ref=ref))


def _step(spec: ConvertSpec) -> ConvertSpec:
    if spec.verb != "plugin":
        return spec
    ref = spec.ref or offer(CONVERTERS, spec.words[0])
    load(CONVERTERS, ref)
    return msgspec.structs.replace(spec, ref=ref)
