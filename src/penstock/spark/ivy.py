"""Fetch exact jars with Ivy, the resolver inside pyspark. Contains no host name.

Some of them are archives of a whole server, so coordinates may contain a file extension.
"""

import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from penstock.spark.errors import JarsUnreachable

# Without POMs, because all jars are listed. This is three times faster.
_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="default"/>
  <resolvers><ibiblio name="default" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""
_RETRIEVED = "[organisation]/[artifact]-[revision](-[classifier]).[ext]"
_TIMEOUTS = (
    "-Dsun.net.client.defaultConnectTimeout=20000",
    "-Dsun.net.client.defaultReadTimeout=60000",
)
_LONGEST_RUN_S = 900
JAR = "jar"  # the default file extension
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, order=True)
class Coordinates:
    """The name of a jar in a repository: `group:artifact:version[:classifier][@ext]`."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    ext: str = JAR

    def __str__(self) -> str:
        parts = (self.group, self.artifact, self.version, self.classifier)
        name = ":".join(part for part in parts if part)
        return name if self.ext == JAR else f"{name}@{self.ext}"

    @property
    def file(self) -> Path:
        """Its path relative to a directory of jars."""
        ending = f"-{self.classifier}" if self.classifier else ""
        return Path(self.group) / f"{self.artifact}-{self.version}{ending}.{self.ext}"


@dataclass(frozen=True, slots=True)
class Progress:
    """One jar was found in the repository, or has arrived; `done` of `total` in that phase."""

    phase: str
    done: int
    total: int
    name: str


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Ivy:
    """How to run Ivy: which java, JVM options, and the user's settings file if there is one."""

    java: Path
    options: tuple[str, ...] = ()
    settings: Path | None = None

    def retrieve(self, wanted: Sequence[Coordinates], work: Path, report: Report) -> Path:
        """Fetch `wanted` into a directory below `work`, which no other process uses; return it.

        A run that failed is tried again, because fetched files are not fetched twice.
        Raises JarsUnreachable with Ivy's own reason. Nothing is verified here.
        """
        if self.settings is not None and not self.settings.is_file():
            raise JarsUnreachable(_names(wanted), f"{str(self.settings)!r} is not a settings file")
        (work / "ivy.xml").write_text(module_file(wanted), encoding="utf-8")
        (work / "ivysettings.xml").write_text(_SETTINGS, encoding="utf-8")
        command = self._command(work, _ivy_jar(wanted))
        for _ in range(_ATTEMPTS):
            run = _Run(command, work, len(wanted), report)
            if run.succeeded:
                return work / "jars"
            if not run.found:
                break
        raise JarsUnreachable(_names(wanted), run.reason)

    def _command(self, work: Path, ivy: Path) -> list[str]:
        settings = self.settings.absolute() if self.settings else work / "ivysettings.xml"
        return [
            str(self.java), *_TIMEOUTS, *self.options, "-jar", str(ivy),
            "-settings", str(settings), "-ivy", str(work / "ivy.xml"), "-cache", str(work / "ivy"),
            "-confs", "default", "-retrieve", f"{work / 'jars'}/{_RETRIEVED}",
        ]  # fmt: skip


def module_file(wanted: Sequence[Coordinates]) -> str:
    """Return an Ivy module that depends on exactly `wanted`: main jars, or what they name instead.

    Two versions of one artifact may both be wanted, so nothing is evicted. The configuration
    `master` is the main jar of a POM; where POMs are not read there is only `default`.
    """
    modules: dict[tuple[str, str, str], list[Coordinates]] = {}
    for jar in wanted:
        modules.setdefault((jar.group, jar.artifact, jar.version), []).append(jar)
    dependencies = "\n".join(map(_dependency, modules.values()))
    return f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="penstock" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
  <conflicts><manager org=".*" module=".*" matcher="regexp" name="all"/></conflicts>
</ivy-module>
"""


def _dependency(jars: Sequence[Coordinates]) -> str:
    """One module in one version with its files; Ivy uses only one mention of each module."""
    first = jars[0]
    opening = (
        f'    <dependency org="{first.group}" name="{first.artifact}" rev="{first.version}"'
        ' transitive="false" conf="default->master(default)"'
    )
    if all(not jar.classifier and jar.ext == JAR for jar in jars):
        return f"{opening}/>"
    return f"{opening}>{''.join(map(_artifact, jars))}</dependency>"


def _artifact(jar: Coordinates) -> str:
    classifier = f' m:classifier="{jar.classifier}"' if jar.classifier else ""
    return f'<artifact name="{jar.artifact}" type="{jar.ext}" ext="{jar.ext}"{classifier}/>'


class _Run:
    """One run of Ivy to its end, at most `_LONGEST_RUN_S`, its output turned into reports."""

    def __init__(self, command: list[str], work: Path, total: int, report: Report) -> None:
        self.found = 0
        self._arrived = 0
        self._total = total
        self._report = report
        self._lines: list[str] = []
        with subprocess.Popen(  # noqa: S603 -- java and our own arguments
            command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            limit = threading.Timer(_LONGEST_RUN_S, process.kill)
            limit.start()
            try:
                for line in process.stdout or ():
                    self._hear(line.strip())
            finally:
                limit.cancel()
        self.succeeded = process.returncode == 0

    @property
    def reason(self) -> str:
        """The first line of the output that says what went wrong, else the last one.

        A user name and password inside an address are removed.
        """
        telling = re.compile(r"Server access error|Exception|not found|FAILED", re.IGNORECASE)
        errors = [line for line in self._lines if line.startswith("Server access error")]
        lines = errors or [line for line in self._lines if telling.search(line)] or self._lines[-1:]
        return re.sub(r"//[^/@\s]+@", "//", lines[0]).rstrip(".") if lines else "Ivy said nothing"

    def _hear(self, line: str) -> None:
        if found := re.match(r"found (\S+) in ", line):
            self.found += 1
            self._report(Progress("found", self.found, self._total, found[1]))
        elif arrived := re.match(r"\[SUCCESSFUL \] (\S+)!", line):
            self._arrived += 1
            self._report(Progress("fetched", self._arrived, self._total, arrived[1]))
        elif line:
            self._lines.append(line)


def _names(wanted: Sequence[Coordinates]) -> list[str]:
    return [str(jar) for jar in wanted]


def _ivy_jar(wanted: Sequence[Coordinates]) -> Path:
    """Return pyspark's Ivy without importing pyspark."""
    spec = find_spec("pyspark")
    for place in (spec and spec.submodule_search_locations) or ():
        for jar in sorted(Path(place, "jars").glob("ivy-*.jar")):
            return jar
    raise JarsUnreachable(_names(wanted), "pyspark, which brings Ivy, is not installed")
