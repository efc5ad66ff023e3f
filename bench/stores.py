"""What a lake on S3 or HDFS costs against one on disk, window by window: `make bench STORE=s3`.

The same windows of the same topics in one Spark session, into a directory and into s3proxy on this
machine, turn by turn. Processor time and memory are Penstock's own and Spark's: those of the broker
and of s3proxy are left out. s3proxy takes the same two cores, so trust the clock less: it also says
nothing about the distance of a real store. Requests are counted in a turn of their own, through a
proxy that would cost time, and no turn that is measured passes it. HDFS is a name node and data
nodes on this machine, and its requests are not counted.
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.compare import HEAP, ROUNDS, WARM_UPS, check_sizes, line_of
from bench.figures import Turn, Turns, Verdict, by_cpu, ratio
from bench.mixed_topic import MixedTopic, fill, learned_feed, open_world
from bench.processes import Watch
from bench.ways import Way, measured, penstock, take_turn, watch_without
from penstock.config import places
from penstock.demo.bucket_files import bucket_folder
from penstock.demo.folders import Folder
from penstock.demo.hdfs_folder import hdfs_folder
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.open_store import open_store
from penstock.spark.jars import HDFS, STORAGE, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy

ON_DISK = "on disk"
TITLES = {"s3": "on S3", "hdfs": "on HDFS"}
BUCKET = "bench"
FEED = "events"
RECORDS = 1_000_000
CPU_TARGETS = {"s3": 1.6, "hdfs": 1.5}
REQUESTS_TARGET = 4.0
_SUFFIX = ".parquet"


@dataclass(frozen=True)
class Requests:
    """What one window asked of the store: by kind, and of those the ones for data files."""

    kinds: Mapping[str, int]
    for_files: int
    files: int

    @property
    def per_file(self) -> float:
        """Requests for a data file, from its first to its last."""
        return self.for_files / self.files


def into_store(spec_of: "SpecOf", folder_of: Callable[[str, Mapping[str, str]], Folder]) -> Way:
    """One window of a feed that knows its types into a store."""

    def way(topic: MixedTopic, target: Path, watch: Watch) -> Turn:
        spec = spec_of(target.parent.name)
        store = open_store(spec)
        folder = folder_of(store.uri(FEED), spec.settings)
        feed = learned_feed(topic, spec)
        before = set(folder.data())
        with measured(watch) as spent:
            feed.run_window()
        feed.close()
        written = [name for name in folder.data() if name not in before]
        rows = sum(folder.open(name).metadata.num_rows for name in written)
        if rows != topic.measured:
            raise SystemExit(f"{rows:,} rows were written instead of {topic.measured:,}")
        sizes = {each.key: each.size_bytes for each in store.list_objects(FEED)}
        turn = Turn(
            records=rows,
            elapsed_s=spent["elapsed_s"],
            cpu_s=spent["cpu_s"],
            peak_rss_bytes=int(spent["peak_rss_bytes"]),
            files=len(written),
            file_bytes=sum(sizes[f"{FEED}/{name}"] for name in written),
        )
        return replace(turn, phases_s=dict(feed.phases_s))

    return way


class SpecOf:
    """The spec of a lake by its name, through some address of the same server."""

    def __init__(self, server: EmbeddedObjectStore | EmbeddedHdfs, endpoint: str = "") -> None:
        self._server = server
        self._more = {"endpoint": endpoint} if endpoint else {}

    def __call__(self, name: str) -> StoreSpec:
        return self._server.spec(f"{BUCKET}/{name}", **self._more)


@contextmanager
def hdfs(scratch: Path) -> Iterator[EmbeddedHdfs]:
    """A name node and two data nodes."""
    cache, home = places.jar_cache(), places.java_home()
    fetch([HDFS], cache, java_home=home, java_options=places.java_network_options())
    jars = jar_paths(HDFS, cache)
    with EmbeddedHdfs(scratch / "hdfs", jars, find_java(home).path, quick=True) as server:
        yield server


@contextmanager
def object_store(scratch: Path) -> Iterator[EmbeddedObjectStore]:
    """s3proxy with its objects in files: they would not fit into its memory."""
    cache, home = places.jar_cache(), places.java_home()
    fetch([STORAGE], cache, java_home=home, java_options=places.java_network_options())
    [jar] = jar_paths(STORAGE, cache)
    with EmbeddedObjectStore(scratch / "s3", jar, find_java(home).path, keeps=True) as server:
        server.make_bucket(BUCKET)
        yield server


Started = Callable[[Path], AbstractContextManager[EmbeddedObjectStore | EmbeddedHdfs]]
FolderOf = Callable[[str, Mapping[str, str]], Folder]
STORES: dict[str, tuple[Started, FolderOf]] = {
    "s3": (object_store, bucket_folder),
    "hdfs": (hdfs, hdfs_folder),
}


def counted(topic: MixedTopic, server: EmbeddedObjectStore) -> Requests:
    """The requests of one window; the first window of the feed, and reading it, are not in it."""
    with FaultProxy(server.endpoint) as proxy:
        spec = SpecOf(server, proxy.url)(f"counted-{topic.types}")
        feed = learned_feed(topic, spec)
        proxy.records.clear()
        feed.run_window()
        asked = proxy.records.all()
        feed.close()
    files = {
        each.key
        for each in asked
        if each.operation == "CompleteMultipartUpload" and each.key.endswith(_SUFFIX)
    }
    kinds = Counter(each.operation for each in asked)
    return Requests(kinds, sum(each.key in files for each in asked), len(files))


def verdicts(
    turns: Mapping[str, Turns], requests: Requests | None, types: int, store: str
) -> list[Verdict]:
    """What is asked of a lake on this kind of store."""
    cpu, target = 1 / ratio(turns[TITLES[store]], turns[ON_DISK], by_cpu), CPU_TARGETS[store]
    name = f"{types} types: processor time, times that on disk"
    found = [Verdict(name, cpu, target, cpu <= target)]
    if requests is None:
        return found
    return [
        *found,
        Verdict(
            f"{types} types: requests for a file",
            requests.per_file,
            REQUESTS_TARGET,
            requests.per_file <= REQUESTS_TARGET,
        ),
    ]


def show(types: int, turns: Mapping[str, Turns], requests: Requests | None, store: str) -> None:
    """The medians, the phases, the requests, and every target."""
    for name, found in turns.items():
        print(line_of(types, name, found))
        phases = found[-1].phases_s
        print("    a window:", ", ".join(f"{name} {took:.2f} s" for name, took in phases.items()))
    title = TITLES[store]
    time_ratio = 1 / ratio(turns[title], turns[ON_DISK])
    memory = {
        name: statistics.median(turn.peak_rss_bytes for turn in found)
        for name, found in turns.items()
    }
    print(
        f"    {title}: {time_ratio:.2f} times the time on disk, "
        f"{memory[title] / memory[ON_DISK]:.2f} times its memory"
    )
    if requests is not None:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(requests.kinds.items()))
        print(f"    requests of a window with {requests.files:,} files: {kinds}")
    for verdict in verdicts(turns, requests, types, store):
        print(verdict)


def measure(options: argparse.Namespace) -> None:
    """Take all turns, and print what they took."""
    began = time.perf_counter()
    started, folder_of = STORES[options.store]
    with open_world(options.keep, HEAP) as world, started(world.scratch) as server:
        way_into = into_store(SpecOf(server), folder_of)
        ways = {ON_DISK: penstock(), TITLES[options.store]: way_into}
        with watch_without((*world.broker_pids, *server.pids)) as watch:
            for types in options.types:
                topic = fill(world, options.records, types)
                turns: dict[str, list[Turn]] = {name: [] for name in ways}
                for number in range(1 - options.warm_ups, options.rounds + 1):
                    for name, way in ways.items():
                        turn = take_turn(topic, way, watch)
                        turns[name] += [turn] if number > 0 else []
                        kind = f"round {number} of {options.rounds}" if number > 0 else "warm-up"
                        took = f"{time.perf_counter() - began:5.0f} s"
                        print(f"{took}  {kind:12} {line_of(types, name, [turn])}", flush=True)
                print()
                requests = None
                if isinstance(server, EmbeddedObjectStore):
                    requests = counted(topic, server)
                show(types, turns, requests, options.store)
                print(flush=True)


def main() -> None:
    """Measure and print; nothing is written."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--store", choices=sorted(STORES), default="s3", help="which kind")
    arguments.add_argument("--records", type=int, default=RECORDS, help="events per topic")
    arguments.add_argument("--types", type=int, nargs="+", default=[12, 200], help="workloads")
    arguments.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each, when warm")
    arguments.add_argument("--warm-ups", type=int, default=WARM_UPS, help="turns that warm up")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps topics for later")
    options = arguments.parse_args()
    check_sizes(arguments, options)
    measure(options)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("stopped") from None
