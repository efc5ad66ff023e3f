"""The settings of a store on S3: the bucket and prefix of its address, and what `store:` says."""

from dataclasses import dataclass

from penstock.config.store_words import StoreWords
from penstock.model.store_spec import StoreSpec

S3 = "s3"
MIB = 2**20
PART_SIZE_BYTES = 16 * MIB
LEAST_PART_BYTES = 5 * MIB  # of every part but the last, says S3
MOST_PART_BYTES = 5 * 2**30
CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0

KNOWN = (
    "access_key",
    "ca",
    "connect_timeout",
    "endpoint",
    "kms_key",
    "part_size",
    "path_style",
    "profile",
    "read_timeout",
    "region",
    "secret_key",
    "session_token",
    "sse",
)
_SECRET = frozenset({"access_key", "secret_key", "session_token"})
_SSE = ("AES256", "aws:kms")


@dataclass(frozen=True, slots=True, repr=False)
class S3Settings:
    """Where a lake on S3 is and how it is reached. Empty texts are what the usual chain decides."""

    bucket: str
    prefix: str
    endpoint: str = ""
    region: str = ""
    path_style: bool = False
    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""
    profile: str = ""
    sse: str = ""
    kms_key: str = ""
    part_size_bytes: int = PART_SIZE_BYTES
    ca: str = ""
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S

    def __repr__(self) -> str:
        return f"S3Settings({self.uri!r})"

    @property
    def uri(self) -> str:
        """The root of the lake as a user writes it."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def encryption(self) -> dict[str, str]:
        """The parameters of a request that creates an object."""
        found = {"ServerSideEncryption": self.sse} if self.sse else {}
        return found | ({"SSEKMSKeyId": self.kms_key} if self.kms_key else {})


def read_settings(spec: StoreSpec) -> S3Settings:
    """The settings in a spec. Raises `StoreSettingUnknown` or `StoreSettingWrong`."""
    words = StoreWords(spec, KNOWN, _SECRET)
    bucket, _, prefix = spec.address.partition("/")
    _check_together(words)
    return S3Settings(
        bucket,
        prefix.strip("/"),
        endpoint=words.address("endpoint", "https://s3.example.com"),
        region=words.text("region"),
        path_style=words.switch("path_style"),
        access_key=words.text("access_key"),
        secret_key=words.text("secret_key"),
        session_token=words.text("session_token"),
        profile=words.text("profile"),
        sse=_sse(words),
        kms_key=words.text("kms_key"),
        part_size_bytes=_part_size(words),
        ca=words.text("ca"),
        connect_timeout_s=words.duration_s("connect_timeout", CONNECT_TIMEOUT_S),
        read_timeout_s=words.duration_s("read_timeout", READ_TIMEOUT_S),
    )


def _check_together(words: StoreWords) -> None:
    if ("access_key" in words) != ("secret_key" in words):
        raise words.wrong("access_key", "given together with secret_key")
    if "session_token" in words and "access_key" not in words:
        raise words.wrong("session_token", "given together with access_key and secret_key")
    if "profile" in words and "access_key" in words:
        raise words.wrong("profile", "left out where access_key is given")
    if words.text("kms_key") and words.text("sse") != "aws:kms":
        raise words.wrong("kms_key", "given together with sse: aws:kms")


def _sse(words: StoreWords) -> str:
    word = words.text("sse")
    if word and word not in _SSE:
        raise words.wrong("sse", " or ".join(_SSE))
    return word


def _part_size(words: StoreWords) -> int:
    size_bytes = words.size_bytes("part_size", PART_SIZE_BYTES)
    if size_bytes is None or not LEAST_PART_BYTES <= size_bytes <= MOST_PART_BYTES:
        raise words.wrong("part_size", "a size from 5MiB to 5GiB")
    return size_bytes
