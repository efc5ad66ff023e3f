"""The settings of a store on HDFS: name node and directory of its address, and `store:`."""

from dataclasses import dataclass

from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.config import units
from penstock.model.store_spec import StoreSpec

HDFS = "hdfs"
REQUEST_TIMEOUT_S = 10.0
FAILOVERS = 4
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 2.0
UMASK = 0o022
PROTECTIONS = ("authentication", "integrity", "privacy")

KNOWN = (
    "config_dir",
    "data_protection",
    "failover_attempts",
    "failover_longest_pause",
    "failover_pause",
    "keytab",
    "principal",
    "replication",
    "request_timeout",
    "umask",
)


@dataclass(frozen=True, slots=True)
class HdfsSettings:
    """Where a lake on HDFS is and how it is reached.

    `authority` is a name node with its port, or a name service that the files of the site explain.
    """

    authority: str
    root: str
    config_dir: str = ""
    request_timeout_s: float = REQUEST_TIMEOUT_S
    failovers: int = FAILOVERS
    first_pause_s: float = FIRST_PAUSE_S
    longest_pause_s: float = LONGEST_PAUSE_S
    replication: int | None = None
    umask: int = UMASK
    keytab: str = ""
    principal: str = ""
    data_protection: str = ""
    any_order: bool = False  # of the name nodes of a service; else that of the site

    @property
    def url(self) -> str:
        """The root of the file system."""
        return f"hdfs://{self.authority}"

    @property
    def uri(self) -> str:
        """The root of the lake as a user writes it."""
        return f"{self.url}{self.root}"

    @property
    def logs_in(self) -> bool:
        """Whether these settings ask for Kerberos; without them, the files of the site may."""
        return bool(self.keytab or self.principal)

    @property
    def client_config(self) -> dict[str, str]:
        """What the client gets over the files of the site; its own waits are three minutes.

        A data node has a third of what a call has, so that another one can be asked in the rest:
        the client tries a connection that it has kept before it opens another one.
        """
        kerberos = {"hadoop.security.authentication": "kerberos"} if self.logs_in else {}
        data = {"dfs.data.transfer.protection": self.data_protection}
        order = {f"dfs.client.failover.random.order.{self.authority}": "true"}
        return {
            **kerberos,
            **(order if self.any_order else {}),
            **(data if self.data_protection else {}),
            "dfs.client.socket-timeout": str(max(round(self.request_timeout_s * 1000 / 3), 1)),
            "dfs.client.failover.max.attempts": str(self.failovers),
            "dfs.client.failover.sleep.base.millis": str(round(self.first_pause_s * 1000)),
            "dfs.client.failover.sleep.max.millis": str(round(self.longest_pause_s * 1000)),
        }


def read_settings(spec: StoreSpec) -> HdfsSettings:
    """The settings in a spec. Raises `StoreSettingUnknown` or `StoreSettingWrong`."""
    for key in spec.settings:
        if key not in KNOWN:
            raise StoreSettingUnknown(spec.scheme, key, KNOWN)
    authority, _, directory = spec.address.partition("/")
    failovers = _number(spec, "failover_attempts", 0, 100)
    root = "/".join(part for part in directory.split("/") if part)
    return HdfsSettings(
        authority,
        f"/{root}" if root else "",
        config_dir=spec.settings.get("config_dir", ""),
        request_timeout_s=_duration(spec, "request_timeout", REQUEST_TIMEOUT_S),
        failovers=FAILOVERS if failovers is None else failovers,
        first_pause_s=_duration(spec, "failover_pause", FIRST_PAUSE_S),
        longest_pause_s=_duration(spec, "failover_longest_pause", LONGEST_PAUSE_S),
        replication=_number(spec, "replication", 1, 512),
        umask=_umask(spec),
        keytab=spec.settings.get("keytab", ""),
        principal=spec.settings.get("principal", ""),
        data_protection=_protection(spec),
    )


def _wrong(spec: StoreSpec, key: str, allowed: str) -> StoreSettingWrong:
    return StoreSettingWrong(spec.scheme, key, repr(spec.settings.get(key, "")), allowed)


def _number(spec: StoreSpec, key: str, least: int, most: int) -> int | None:
    word = spec.settings.get(key)
    if word is None:
        return None
    if not (word.isascii() and word.isdigit() and least <= int(word) <= most):
        raise _wrong(spec, key, f"a whole number from {least} to {most}")
    return int(word)


def _umask(spec: StoreSpec) -> int:
    word = spec.settings.get("umask", f"{UMASK:03o}")
    if not (2 < len(word) < 5 and all(digit in "01234567" for digit in word)):
        raise _wrong(spec, "umask", "three octal digits, such as '027'")
    return int(word, 8)


def _protection(spec: StoreSpec) -> str:
    """As the files of the site have it; where there are none, what the data nodes ask for."""
    word = spec.settings.get("data_protection")
    if word is None:
        decide = "keytab" in spec.settings and not spec.settings.get("config_dir")
        return ",".join(PROTECTIONS) if decide else ""
    if word not in PROTECTIONS:
        raise _wrong(spec, "data_protection", f"one of {', '.join(PROTECTIONS)}")
    return word


def _duration(spec: StoreSpec, key: str, usual_s: float) -> float:
    word = spec.settings.get(key)
    found = usual_s if word is None else units.longer_than_nothing_s(word)
    if found is None:
        raise _wrong(spec, key, units.DURATION)
    return found
