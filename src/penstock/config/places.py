"""Paths and settings of this machine: the cache, the logs, Java, the proxy.

Each function reads the given environment, or the process's own if none is given.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

Environment = Mapping[str, str]


def cache_directory(environment: Environment = os.environ) -> Path:
    """Return Penstock's cache: `penstock` below `$XDG_CACHE_HOME`, else below `~/.cache`.

    The directory need not exist. A relative XDG_CACHE_HOME is ignored, as its standard asks.
    """
    given = Path(environment.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else _home(environment) / ".cache"
    return base / "penstock"


def jar_cache(environment: Environment = os.environ) -> Path:
    """Return the directory of fetched jars."""
    return cache_directory(environment) / "jars"


def log_directory(environment: Environment = os.environ) -> Path:
    """Return the directory of logs: `penstock/logs` below `$XDG_STATE_HOME`, else `~/.local/state`.

    The directory need not exist.
    """
    given = Path(environment.get("XDG_STATE_HOME", ""))
    base = given if given.is_absolute() else _home(environment) / ".local" / "state"
    return base / "penstock" / "logs"


def spark_scratch(environment: Environment = os.environ) -> Path | None:
    """Return a scratch directory of the executor that a Python worker of Spark works for.

    None where Spark names none that can be used, and where TMPDIR is set.
    """
    if environment.get("TMPDIR"):
        return None
    places = [Path(word) for word in environment.get("SPARK_LOCAL_DIRS", "").split(",") if word]
    return next((place for place in places if os.access(place, os.W_OK | os.X_OK)), None)


def java_home(environment: Environment = os.environ) -> Path | None:
    """Return JAVA_HOME, or None when it is unset or empty."""
    given = environment.get("JAVA_HOME", "").strip()
    return Path(given) if given else None


def java_network_options(environment: Environment = os.environ) -> tuple[str, ...]:
    """Return the proxy settings of the environment as JVM options; Java does not read them itself.

    `https_proxy` and `http_proxy` are read in upper and lower case. A proxy with a password is not
    supported: Java needs the password in an Ivy settings file.
    """
    options: list[str] = []
    for scheme in ("https", "http"):
        proxy = _proxy(environment, scheme)
        if proxy is not None:
            host, port = proxy
            options += [f"-D{scheme}.proxyHost={host}", f"-D{scheme}.proxyPort={port}"]
    direct = _either_case(environment, "no_proxy")
    if options and direct:
        options.append(f"-Dhttp.nonProxyHosts={_non_proxy_hosts(direct)}")
    return tuple(options)


def _home(environment: Environment) -> Path:
    given = Path(environment.get("HOME", ""))
    return given if given.is_absolute() else Path.home()


def _proxy(environment: Environment, scheme: str) -> tuple[str, int] | None:
    given = _either_case(environment, f"{scheme}_proxy")
    if not given:
        return None
    parts = urlsplit(given if "//" in given else f"//{given}")
    return (parts.hostname, parts.port or 80) if parts.hostname else None


def _either_case(environment: Environment, name: str) -> str:
    return environment.get(name) or environment.get(name.upper(), "")


def _non_proxy_hosts(direct: str) -> str:
    """Turn `.corp,localhost` into Java's `*.corp|localhost`."""
    hosts = (host.strip() for host in direct.split(","))
    return "|".join(f"*{host}" if host.startswith(".") else host for host in hosts if host)
