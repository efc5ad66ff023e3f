"""The settings of a store on S3: the bucket and prefix of its address, and what `store:` says."""

from dataclasses import dataclass

from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.config import units
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
_SWITCH = {"true": True, "yes": True, "false": False, "no": False}
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
    for key in spec.settings:
        if key not in KNOWN:
            raise StoreSettingUnknown(spec.scheme, key, KNOWN)
    words = spec.settings
    bucket, _, prefix = spec.address.partition("/")
    _check_together(spec)
    return S3Settings(
        bucket,
        prefix.strip("/"),
        endpoint=_endpoint(spec),
        region=words.get("region", ""),
        path_style=_switch(spec, "path_style"),
        access_key=words.get("access_key", ""),
        secret_key=words.get("secret_key", ""),
        session_token=words.get("session_token", ""),
        profile=words.get("profile", ""),
        sse=_sse(spec),
        kms_key=words.get("kms_key", ""),
        part_size_bytes=_part_size(spec),
        ca=words.get("ca", ""),
        connect_timeout_s=_duration(spec, "connect_timeout", CONNECT_TIMEOUT_S),
        read_timeout_s=_duration(spec, "read_timeout", READ_TIMEOUT_S),
    )


def _wrong(spec: StoreSpec, key: str, allowed: str) -> StoreSettingWrong:
    found = "***" if key in _SECRET else repr(spec.settings.get(key, ""))
    return StoreSettingWrong(spec.scheme, key, found, allowed)


def _check_together(spec: StoreSpec) -> None:
    words = spec.settings
    if ("access_key" in words) != ("secret_key" in words):
        raise _wrong(spec, "access_key", "given together with secret_key")
    if "session_token" in words and "access_key" not in words:
        raise _wrong(spec, "session_token", "given together with access_key and secret_key")
    if "profile" in words and "access_key" in words:
        raise _wrong(spec, "profile", "left out where access_key is given")
    if words.get("kms_key") and words.get("sse") != "aws:kms":
        raise _wrong(spec, "kms_key", "given together with sse: aws:kms")


def _endpoint(spec: StoreSpec) -> str:
    word = spec.settings.get("endpoint", "")
    if word and not word.startswith(("http://", "https://")):
        raise _wrong(spec, "endpoint", "an address such as https://s3.example.com")
    return word.rstrip("/")


def _switch(spec: StoreSpec, key: str) -> bool:
    word = spec.settings.get(key, "false").lower()
    if word not in _SWITCH:
        raise _wrong(spec, key, "true or false")
    return _SWITCH[word]


def _sse(spec: StoreSpec) -> str:
    word = spec.settings.get("sse", "")
    if word and word not in _SSE:
        raise _wrong(spec, "sse", " or ".join(_SSE))
    return word


def _part_size(spec: StoreSpec) -> int:
    word = spec.settings.get("part_size")
    size_bytes = PART_SIZE_BYTES if word is None else units.size_bytes(word)
    if size_bytes is None or not LEAST_PART_BYTES <= size_bytes <= MOST_PART_BYTES:
        raise _wrong(spec, "part_size", "a size from 5MiB to 5GiB")
    return size_bytes


def _duration(spec: StoreSpec, key: str, usual_s: float) -> float:
    word = spec.settings.get(key)
    found = usual_s if word is None else units.longer_than_nothing_s(word)
    if found is None:
        raise _wrong(spec, key, units.DURATION)
    return found
