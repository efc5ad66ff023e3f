"""Every door for plug-ins: its entry-point group, and what must be behind it."""

from collections.abc import Callable

from penstock.api.codec import Codec
from penstock.api.converter import BatchConverter, RecordConverter
from penstock.api.file_format import FileFormat
from penstock.api.find import Door
from penstock.api.fork_function import ForkFunction
from penstock.api.partition_value import PartitionValue
from penstock.api.price import Price
from penstock.api.reporter import Reporter
from penstock.api.route import Route
from penstock.api.source import OpensSource, Source
from penstock.api.store import Store

STORES: Door[Callable[..., Store]] = Door("store", "penstock.stores", (Store,), is_maker=True)
SOURCES: Door[OpensSource] = Door("source", "penstock.sources", (Source,), is_maker=True)
CODECS: Door[Codec] = Door("codec", "penstock.codecs", (Codec,))
FORMATS: Door[FileFormat] = Door("file format", "penstock.formats", (FileFormat,))
ROUTES: Door[Callable[..., Route]] = Door("route", "penstock.routes", (Route,), is_maker=True)
PARTITIONS: Door[Callable[..., PartitionValue]] = Door(
    "partition value", "penstock.partitions", (PartitionValue,), is_maker=True
)
CONVERTERS: Door[Callable[..., RecordConverter | BatchConverter]] = Door(
    "converter", "penstock.converters", (RecordConverter, BatchConverter), is_maker=True
)
FORKS: Door[Callable[..., ForkFunction]] = Door(
    "fork function", "penstock.forks", (ForkFunction,), is_maker=True
)
PRICES: Door[Callable[..., Price]] = Door("price", "penstock.prices", (Price,), is_maker=True)
REPORTERS: Door[Callable[..., Reporter]] = Door(
    "reporter", "penstock.reporters", (Reporter,), is_maker=True
)

EVERY_DOOR: tuple[Door[object], ...] = (
    STORES,
    SOURCES,
    CODECS,
    FORMATS,
    ROUTES,
    PARTITIONS,
    CONVERTERS,
    FORKS,
    PRICES,
    REPORTERS,
)
