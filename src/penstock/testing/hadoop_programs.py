"""Programs of Hadoop as child processes: how a JVM runs them, and the files that configure them."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from penstock.testing.servers import GuardedProcess

TOOL_TIMEOUT_S = 60.0

NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"

_JVM = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Djava.net.preferIPv4Stack=true",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)
_LOGGING = """\
log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


class HadoopPrograms:
    """Programs that share a directory with one configuration, and what the JVM is told besides."""

    def __init__(
        self, directory: Path, jars: Sequence[Path], java: Path, java_options: Sequence[str] = ()
    ) -> None:
        self._directory = directory
        self._jars = tuple(jars)
        self._java = java
        self._java_options = tuple(java_options)

    @property
    def config_dir(self) -> Path:
        """The directory with `core-site.xml` and `hdfs-site.xml`, for clients as for servers."""
        return self._directory / "conf"

    def write_config(self, site: Mapping[str, str], core: Mapping[str, str]) -> None:
        """Write the files of the site, and what no server starts without."""
        for part in ("hdfs", "datanode"):  # of their web pages
            (self.config_dir / "webapps" / part).mkdir(parents=True, exist_ok=True)
        usual = {"hadoop.tmp.dir": str(self._directory / "tmp")}
        write_xml(self.config_dir / "hdfs-site.xml", site)
        write_xml(self.config_dir / "core-site.xml", usual | dict(core))
        (self.config_dir / "log4j.properties").write_text(_LOGGING)

    def start(self, main: str, log: Path, *arguments: str) -> GuardedProcess:
        """Start a server; all that it prints goes to the log."""
        return GuardedProcess([*self._command(main), *arguments], self._directory, log)

    def run_tool(self, main: str, *arguments: str) -> str:
        """Run a program to its end; what it printed, errors included."""
        done = subprocess.run(  # noqa: S603 -- tests choose what they run
            [*self._command(main), *arguments],
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TOOL_TIMEOUT_S,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{main} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def _command(self, main: str) -> list[str]:
        places = os.pathsep.join([str(self.config_dir), *map(str, self._jars)])
        home = f"-Dhadoop.home.dir={self._directory}"
        return [str(self._java), *_JVM, *self._java_options, home, "-cp", places, main]


def defined(settings: Mapping[str, str]) -> list[str]:
    """Settings of one server only, as arguments that Hadoop takes over its files."""
    return [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]


def write_xml(path: Path, settings: Mapping[str, str]) -> None:
    """Write a configuration file of Hadoop."""
    lines = [
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    ]
    text = f'<?xml version="1.0"?>\n<configuration>\n{"".join(lines)}</configuration>\n'
    path.write_text(text, encoding="utf-8")
