"""The settings of a store on GCS: the bucket and prefix of its address, and what `store:` says."""

from dataclasses import dataclass

from penstock.api.errors import StoreSettingWrong
from penstock.config.store_words import StoreWords
from penstock.model.store_spec import StoreSpec

GCS = "gcs"
MIB = 2**20
CHUNK_UNIT_BYTES = 256 * 1024  # all pieces of an upload but the last are multiples of it
CHUNK_BYTES = 8 * MIB
MOST_CHUNK_BYTES = 2**30
CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 60.0  # a rewrite may take 30 seconds, says GCS

KNOWN = (
    "anonymous",
    "ca",
    "chunk_size",
    "connect_timeout",
    "credentials_file",
    "endpoint",
    "kms_key",
    "project",
    "read_timeout",
    "user_project",
)
_RESERVED = ".well-known/acme-challenge"


@dataclass(frozen=True, slots=True, repr=False)
class GcsSettings:
    """Where a lake on GCS is and how it is reached. The usual chain decides what is empty."""

    bucket: str
    prefix: str
    endpoint: str = ""
    project: str = ""
    user_project: str = ""
    credentials_file: str = ""
    anonymous: bool = False
    kms_key: str = ""
    chunk_bytes: int = CHUNK_BYTES
    ca: str = ""
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S

    def __repr__(self) -> str:
        return f"GcsSettings({self.uri!r})"

    @property
    def uri(self) -> str:
        """The root of the lake as a user writes it."""
        return f"gs://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def timeout_s(self) -> tuple[float, float]:
        """How long a request may take to connect, and to say its next byte."""
        return self.connect_timeout_s, self.read_timeout_s


def read_settings(spec: StoreSpec) -> GcsSettings:
    """The settings in a spec. Raises `StoreSettingUnknown` or `StoreSettingWrong`."""
    words = StoreWords(spec, KNOWN)
    bucket, _, prefix = spec.address.partition("/")
    if "credentials_file" in words and words.switch("anonymous"):
        raise words.wrong("credentials_file", "left out where anonymous is true")
    if f"{prefix.strip('/')}/".startswith(f"{_RESERVED}/"):
        raise StoreSettingWrong(
            spec.scheme, "lake", repr(spec.uri), f"another prefix: GCS takes no name in {_RESERVED}"
        )
    return GcsSettings(
        bucket,
        prefix.strip("/"),
        endpoint=words.address("endpoint", "https://storage.googleapis.com"),
        project=words.text("project"),
        user_project=words.text("user_project"),
        credentials_file=words.text("credentials_file"),
        anonymous=words.switch("anonymous"),
        kms_key=words.text("kms_key"),
        chunk_bytes=_chunk_bytes(words),
        ca=words.text("ca"),
        connect_timeout_s=words.duration_s("connect_timeout", CONNECT_TIMEOUT_S),
        read_timeout_s=words.duration_s("read_timeout", READ_TIMEOUT_S),
    )


def _chunk_bytes(words: StoreWords) -> int:
    size_bytes = words.size_bytes("chunk_size", CHUNK_BYTES)
    if (
        size_bytes is None
        or not CHUNK_UNIT_BYTES <= size_bytes <= MOST_CHUNK_BYTES
        or size_bytes % CHUNK_UNIT_BYTES
    ):
        raise words.wrong("chunk_size", "a multiple of 256KiB, up to 1GiB")
    return size_bytes
