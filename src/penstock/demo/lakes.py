"""The lake of a demo: a directory beside its other files, or a place in a store of the user's."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice

from penstock.api.store import Store
from penstock.config.clients import reveal_store
from penstock.config.load import load
from penstock.demo.bucket_watch import BucketOnlooker
from penstock.demo.errors import DemoRefused
from penstock.demo.folders import Folder, local_folder
from penstock.demo.place import FEED, Place
from penstock.demo.queries import bucket_query_lines, hdfs_query_lines, query_lines
from penstock.demo.watch import DirectoryOnlooker, Onlooker
from penstock.model.layout import Layout
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.open_store import open_store

_SCHEMES = ("s3", "gs", "hdfs")


@dataclass(frozen=True, slots=True)
class DemoLake:
    """How the lake of a demo is read, watched, queried and removed."""

    shown: str
    root: Folder
    onlooker: Onlooker
    queries: dict[str, str]
    store: Store | None = None  # of a lake with an address

    def remove(self) -> None:
        """Remove what the demo has put into a store; nothing was there before.

        A lake in a directory goes with the directory of the demo.
        """
        if self.store is None:
            return
        layout = Layout(FEED)
        for ref in list(self.store.list_staged(layout.staging, layout.data_prefixes)):
            self.store.discard(ref)
        left = self.store.delete_all(list_keys(self.store, ""))
        for key in left:
            self.store.delete(key)  # tells why it cannot be removed


def lake_of(place: Place) -> DemoLake:
    """The lake that the configuration of a demo names. Raises what the store says about it."""
    if not place.lake_uri:
        shown = f"{place.shown()}/lake"
        watch = DirectoryOnlooker(place.lake, FEED)
        return DemoLake(shown, local_folder(place.lake), watch, query_lines(place.lake / FEED))
    spec = reveal_store(load(place.config, {}).lake, place.environ)
    store = open_store(spec)
    uri = place.lake_uri.rstrip("/")
    settings = _with_emulator(spec, place.environ)
    root = _folder_of(spec.scheme, uri, settings)
    if spec.scheme == "hdfs":
        lines = hdfs_query_lines(f"{uri}/{FEED}")
    else:
        is_anonymous = settings.get("anonymous", "").lower() in ("true", "yes")
        address = uri.replace("://", "://anonymous@") if is_anonymous else uri
        lines = bucket_query_lines(f"{address}/{FEED}", settings.get("endpoint", ""))
    return DemoLake(uri, root, BucketOnlooker(store, FEED, root / FEED), lines, store)


def _with_emulator(spec: StoreSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """With the emulator that Google's client finds in the environment; other readers do not."""
    emulator = environ.get("STORAGE_EMULATOR_HOST", "")
    if spec.scheme != "gs" or not emulator:
        return dict(spec.settings)
    return {"endpoint": emulator, "anonymous": "true", **spec.settings}


def _folder_of(scheme: str, uri: str, settings: Mapping[str, str]) -> Folder:
    """As another client reads it. The extra that it needs is there, or no store would be open."""
    found: Folder
    if scheme == "gs":
        found = import_module("penstock.demo.gcs_files").gcs_folder(uri, settings)
    elif scheme == "hdfs":
        found = import_module("penstock.demo.hdfs_folder").hdfs_folder(uri, settings)
    else:
        found = import_module("penstock.demo.bucket_files").bucket_folder(uri, settings)
    return found


def check_lake(place: Place) -> None:
    """Refuse a lake that the demo cannot count, or a prefix with anything below it."""
    if not place.lake_uri:
        return
    if place.lake_uri.partition("://")[0] not in _SCHEMES:
        raise DemoRefused(
            f"The demo counts with a reader of its own, which cannot read {place.lake_uri!r}.",
            "Nothing was started. --lake takes s3://bucket/prefix, gs://bucket/prefix, or "
            "hdfs://namenode:port/path; "
            "a directory is given by --dir.",
        )
    lake = lake_of(place)
    if lake.store is None:
        raise TypeError("a lake with an address has a store")
    layout = Layout(FEED)
    objects = [each.key for each in lake.store.list_objects("", limit=1)]
    staged = islice(lake.store.list_staged(layout.staging, layout.data_prefixes), 1)
    found = [*objects, *(f"a staged file of {each.window}" for each in staged)]
    if found:
        raise DemoRefused(
            f"There is something at {lake.shown!r} already: {found[0]}.",
            "Nothing was changed. Choose another place, or remove what is there.",
        )
    try:
        lake.root.parquet()
    except OSError as error:
        raise DemoRefused(
            f"The demo counts with a reader of its own, which cannot list {lake.shown!r}: {error}",
            "Nothing was started. Give credentials and endpoint that pyarrow finds too, or name "
            "them by --store.",
        ) from error
