"""The settings of a store on GCS: the bucket and prefix of its address, and what `store:` says."""

from dataclasses import dataclass

from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.config import units
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
_SWITCH = {"true": True, "yes": True, "false": False, "no": False}
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
    for key in spec.settings:
        if key not in KNOWN:
            raise StoreSettingUnknown(spec.scheme, key, KNOWN)
    words = spec.settings
    bucket, _, prefix = spec.address.partition("/")
    if "credentials_file" in words and _switch(spec, "anonymous"):
        raise _wrong(spec, "credentials_file", "left out where anonymous is true")
    if f"{prefix.strip('/')}/".startswith(f"{_RESERVED}/"):
        raise StoreSettingWrong(
            spec.scheme, "lake", repr(spec.uri), f"another prefix: GCS takes no name in {_RESERVED}"
        )
    return GcsSettings(
        bucket,
        prefix.strip("/"),
        endpoint=_endpoint(spec),
        project=words.get("project", ""),
        user_project=words.get("user_project", ""),
        credentials_file=words.get("credentials_file", ""),
        anonymous=_switch(spec, "anonymous"),
        kms_key=words.get("kms_key", ""),
        chunk_bytes=_chunk_bytes(spec),
        ca=words.get("ca", ""),
        connect_timeout_s=_duration(spec, "connect_timeout", CONNECT_TIMEOUT_S),
        read_timeout_s=_duration(spec, "read_timeout", READ_TIMEOUT_S),
    )


def _wrong(spec: StoreSpec, key: str, allowed: str) -> StoreSettingWrong:
    return StoreSettingWrong(spec.scheme, key, repr(spec.settings.get(key, "")), allowed)


def _endpoint(spec: StoreSpec) -> str:
    word = spec.settings.get("endpoint", "")
    if word and not word.startswith(("http://", "https://")):
        raise _wrong(spec, "endpoint", "an address such as https://storage.googleapis.com")
    return word.rstrip("/")


def _switch(spec: StoreSpec, key: str) -> bool:
    word = spec.settings.get(key, "false").lower()
    if word not in _SWITCH:
        raise _wrong(spec, key, "true or false")
    return _SWITCH[word]


def _chunk_bytes(spec: StoreSpec) -> int:
    word = spec.settings.get("chunk_size")
    size_bytes = CHUNK_BYTES if word is None else units.size_bytes(word)
    if (
        size_bytes is None
        or not CHUNK_UNIT_BYTES <= size_bytes <= MOST_CHUNK_BYTES
        or size_bytes % CHUNK_UNIT_BYTES
    ):
        raise _wrong(spec, "chunk_size", "a multiple of 256KiB, up to 1GiB")
    return size_bytes


def _duration(spec: StoreSpec, key: str, usual_s: float) -> float:
    word = spec.settings.get(key)
    found = usual_s if word is None else units.longer_than_nothing_s(word)
    if found is None:
        raise _wrong(spec, key, units.DURATION)
    return found
