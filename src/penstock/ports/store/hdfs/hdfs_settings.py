"""The settings of a store on HDFS: name node and directory of its address, and `store:`."""

from dataclasses import dataclass

from penstock.config.store_words import StoreWords
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
    words = StoreWords(spec, KNOWN)
    authority, _, directory = spec.address.partition("/")
    failovers = _number(words, "failover_attempts", 0, 100)
    root = "/".join(part for part in directory.split("/") if part)
    return HdfsSettings(
        authority,
        f"/{root}" if root else "",
        config_dir=words.text("config_dir"),
        request_timeout_s=words.duration_s("request_timeout", REQUEST_TIMEOUT_S),
        failovers=FAILOVERS if failovers is None else failovers,
        first_pause_s=words.duration_s("failover_pause", FIRST_PAUSE_S),
        longest_pause_s=words.duration_s("failover_longest_pause", LONGEST_PAUSE_S),
        replication=_number(words, "replication", 1, 512),
        umask=_umask(words),
        keytab=words.text("keytab"),
        principal=words.text("principal"),
        data_protection=_protection(words),
    )


def _number(words: StoreWords, key: str, least: int, most: int) -> int | None:
    word = words.find(key)
    if word is None:
        return None
    if not (word.isascii() and word.isdigit() and least <= int(word) <= most):
        raise words.wrong(key, f"a whole number from {least} to {most}")
    return int(word)


def _umask(words: StoreWords) -> int:
    word = words.find("umask")
    if word is None:
        return UMASK
    if not (2 < len(word) < 5 and all(digit in "01234567" for digit in word)):
        raise words.wrong("umask", "three octal digits, such as '027'")
    return int(word, 8)


def _protection(words: StoreWords) -> str:
    """As the files of the site have it; where there are none, what the data nodes ask for."""
    word = words.find("data_protection")
    if word is None:
        decide = "keytab" in words and not words.text("config_dir")
        return ",".join(PROTECTIONS) if decide else ""
    if word not in PROTECTIONS:
        raise words.wrong("data_protection", f"one of {', '.join(PROTECTIONS)}")
    return word
