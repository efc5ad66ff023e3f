"""A client for schema registries that speak Confluent's API: schemas by their id. Driver only.

A schema never changes behind its id, so whatever was fetched once is kept. What is fetched comes
from a machine that others may write to: everything about it is bounded. Records may name any id,
also one that no registry could have: whatever a record says, the answer is a schema or that there
is none.
"""

import json
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from penstock.model.registered_schema import UNUSABLE, RegisteredSchema
from penstock.ports.registry.errors import (
    RegistryDown,
    RegistryRefused,
    RegistryTrouble,
    RegistryWrong,
)
from penstock.ports.registry.registry_http import MOST_BYTES, AnswerTooLong, Fetch

_MOST_REFERENCES = 64
_NO_SUCH = {40401, 40402, 40403}  # no such subject, version, schema
_TYPES = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json"}

_LAST_ID = 2**31 - 1
_ODD = {400, 422}  # how some say that an id or a version cannot be one


class _Reply(msgspec.Struct):
    """A schema as a registry describes it; unknown fields do not matter."""

    schema: str
    schemaType: str | None = None  # noqa: N815, the registry's own spelling
    references: list["_Reference"] | None = None


class _Reference(msgspec.Struct):
    """A schema that another one names."""

    name: str
    subject: str
    version: int


_decoder = msgspec.json.Decoder(_Reply)


@dataclass(slots=True)
class _Referred:
    """What a schema refers to, as far as it was followed: by where it is, and by name and place."""

    replies: dict[str, _Reply] = field(default_factory=dict)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)


class _Unusable(Exception):
    """A schema that the registry has and nobody can read with. That is not the registry's fault."""


def can_be(key: str) -> bool:
    """Whether a registry could have a schema of that name: ids have 31 bits there."""
    return not key.isdecimal() or int(key) <= _LAST_ID


class Registry:
    """Schemas by id. Every call may take as long as the time limit."""

    def __init__(self, url: str, fetch: Fetch) -> None:
        self._url = url
        self._fetch = fetch

    def find(self, key: str) -> RegisteredSchema | None:
        """A schema by what records call it; None when the registry is sure that there is none.

        That is the digits of its id, or `guid:` and the name that it has in every registry. One
        that is there and cannot be used, such as one whose references lead nowhere or one that is
        too long, is `unusable`. Raises `RegistryTrouble`.
        """
        if not can_be(key):
            return None
        guid = key.removeprefix("guid:")
        place = "ids" if guid == key else "guids"
        found = _Referred()
        try:
            reply = self._get(f"/schemas/{place}/{quote(guid, safe='')}")
            if reply is None:
                return None
            kind = _TYPES.get(reply.schemaType or "AVRO")
            if kind is None:
                raise _Unusable(f"it is of the type {reply.schemaType!r}")
            self._follow(reply, found, ())
        except _Unusable as error:
            return RegisteredSchema(UNUSABLE, str(error))
        names = tuple((name, text) for (name, _place), text in found.texts.items())
        return RegisteredSchema(kind, reply.schema, names)

    def check(self) -> None:
        """Raise if it does not answer, refuses us, or is not a registry."""
        if not self._is_registry():
            raise RegistryWrong(self._url, "it does not know the types of schemas")

    def is_there(self) -> bool:
        """Whether it answers what every registry answers, whatever it says to other questions."""
        try:
            return self._is_registry()
        except RegistryTrouble:
            return False

    def _follow(self, reply: _Reply, found: _Referred, above: tuple[str, ...]) -> None:
        """All that a schema names, and all that those name; whatever is named comes first.

        One schema may be named in several ways, as when files import it by different paths.
        """
        for reference in reply.references or ():
            place = f"{reference.subject}/{reference.version}"
            if place in above:
                raise _Unusable(f"{place} refers to itself")
            if (reference.name, place) in found.texts:
                continue
            if place not in found.replies:
                _bound(len(found.replies) + 1)
                found.replies[place] = self._referred(reference, place)
            below = found.replies[place]
            self._follow(below, found, (*above, place))
            _bound(len(found.texts) + 1)
            found.texts[reference.name, place] = below.schema
        if sum(map(len, found.texts.values())) > MOST_BYTES:
            raise _Unusable(f"it refers to over {MOST_BYTES:,} characters")

    def _referred(self, reference: _Reference, place: str) -> _Reply:
        """A schema by its subject and version, also if it was deleted since: records need it."""
        subject = quote(reference.subject, safe="")
        found = self._get(f"/subjects/{subject}/versions/{reference.version}?deleted=true")
        if found is None:
            raise _Unusable(f"it refers to {place}, which is not there")
        return found

    def _get(self, path: str) -> _Reply | None:
        try:
            status, body = self._fetch(self._url + path)
        except AnswerTooLong as error:
            if error.status == 200 and self._is_registry():
                raise _Unusable(str(error)) from error
            raise RegistryWrong(self._url, str(error)) from error
        if status == 404:
            if _error_code(body) in _NO_SUCH or self._is_registry():
                return None
            raise RegistryWrong(self._url, f"{path} is not an address of a registry (404)")
        if status in _ODD and _error_code(body) is not None and self._is_registry():
            return None
        _check(self._url, status)
        try:
            return _decoder.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise RegistryWrong(self._url, f"its answer is not a schema ({error})") from error

    def _is_registry(self) -> bool:
        """Whether an address that every registry has is there.

        Then a 404 without a registry's own code is about what a record named, an id too large for
        it or a guid where it knows none, and not about our address. A record must not stop a feed.
        """
        try:
            status, body = self._fetch(f"{self._url}/schemas/types")
        except AnswerTooLong:
            return False
        if status == 404:
            return False
        _check(self._url, status)
        try:
            return not _TYPES.keys().isdisjoint(msgspec.json.decode(body, type=list[str]))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False


def _check(url: str, status: int) -> None:
    """Refuse a response that does not answer the question."""
    if status in {401, 403}:
        raise RegistryRefused(url, status)
    if 300 <= status < 400:
        raise RegistryDown(url, f"it answered {status}, and redirects are not followed")
    if status != 200:
        raise RegistryDown(url, f"it answered {status}")


def _bound(count: int) -> None:
    if count > _MOST_REFERENCES:
        raise _Unusable(f"it has over {_MOST_REFERENCES} references")


def _error_code(body: bytes) -> int | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = found.get("error_code") if isinstance(found, dict) else None
    return code if isinstance(code, int) else None
