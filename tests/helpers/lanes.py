"""Which lane a test belongs to, and in which order files are run so that workers end together.

A lane is a part of the suite with a budget of its own: a folder of `tests`, or a component that
the integration tests start. A later component gets a folder `tests/integration/<component>`.
"""

import heapq
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

STORED = Path(__file__).parents[1] / "durations.json"
LEAST_S = 0.5  # shorter files are not stored
UNKNOWN_S = 0.2  # of a file that is not stored
COMPONENTS = {
    "test_crashes": "crashes",
    "test_demo": "demo",
    "test_jars": "jars",
    "test_kafka_faults": "crashes",
    "test_owners": "crashes",
    "test_protobuf": "registry",
    "test_quickstart": "demo",
    "test_registry_real": "registry",
    "test_written": "registry",
}  # of files that lie in tests/integration itself; all others are of Kafka and Spark


def lane_of(file: str) -> str:
    """The lane of a test file, named from the root of the repository."""
    parts = PurePosixPath(file).parts
    folder = parts[1] if len(parts) > 2 else "other"
    if folder != "integration":
        return folder
    inner = parts[2] if len(parts) > 3 else COMPONENTS.get(PurePosixPath(file).stem, "kafka, spark")
    return f"integration: {inner}"


def group_of(file: str, marked: str | None) -> str:
    """What runs on one worker, without a break: a file, or all files that share a mark."""
    return marked or file.removeprefix("tests/").removesuffix(".py")


def in_order(groups: Mapping[str, Iterable[str]], stored: Mapping[str, float]) -> list[str]:
    """Groups of files, the longest first: whoever is free takes the next, so all end together."""
    seconds = {name: sum(stored.get(file, UNKNOWN_S) for file in groups[name]) for name in groups}
    return sorted(groups, key=lambda name: (-seconds[name], name))


def finish_s(seconds: Iterable[float], workers: int) -> float:
    """When the last of the workers ends, if each takes the next group as soon as it is free."""
    ends = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def read_stored(place: Path = STORED) -> dict[str, float]:
    """Seconds by file, as `make durations` has measured them last; none without that file."""
    if not place.exists():
        return {}
    found: dict[str, float] = json.loads(place.read_text())
    return found


def still_there(stored: Mapping[str, float], root: Path) -> dict[str, float]:
    """What is stored of files that were not renamed or deleted since."""
    return {file: seconds for file, seconds in stored.items() if (root / file).is_file()}


def store(seconds: Mapping[str, float], place: Path = STORED) -> None:
    """Keep what was measured, for the order of later runs."""
    kept = {file: round(s, 1) for file, s in sorted(seconds.items()) if s >= LEAST_S}
    place.write_text(json.dumps(kept, indent=1) + "\n")


def table(seconds: Mapping[str, float], cpu: Mapping[str, float]) -> list[str]:
    """Lines for people: the lanes with their seconds, the longest first."""
    width = max((len(name) for name in seconds), default=0)
    lines = [f"{'lane':{width}}  {'wall s':>8}  {'cpu s':>8}"]
    for name in sorted(seconds, key=lambda each: (-seconds[each], each)):
        lines.append(f"{name:{width}}  {seconds[name]:8.1f}  {cpu.get(name, 0.0):8.1f}")
    return [*lines, f"{'sum':{width}}  {sum(seconds.values()):8.1f}  {sum(cpu.values()):8.1f}"]
