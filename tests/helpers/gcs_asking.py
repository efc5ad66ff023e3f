"""Plain requests of the JSON API, for tests of what a server of it answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import requests


@dataclass
class GcsAsking:
    """Asks one bucket of one server. Answers are as they came."""

    endpoint: str
    bucket: str
    session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.session.trust_env = False

    @property
    def base(self) -> str:
        """The address of the bucket."""
        return f"{self.endpoint}/storage/v1/b/{self.bucket}"

    def insert(self, name: str, data: bytes, **query: object) -> requests.Response:
        """A simple upload."""
        address = f"{self.endpoint}/upload/storage/v1/b/{self.bucket}/o"
        asked = {"uploadType": "media", "name": name, **query}
        return self.session.post(address, params=_texts(asked), data=data)

    def made(self, name: str, data: bytes = b"content", **query: object) -> int:
        """The generation of an object that must be made."""
        answer = self.insert(name, data, **query)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["generation"])

    def begin(self, name: str, **query: object) -> requests.Response:
        """Begin a resumable upload."""
        address = f"{self.endpoint}/upload/storage/v1/b/{self.bucket}/o"
        asked = {"uploadType": "resumable", "name": name, **query}
        return self.session.post(address, params=_texts(asked), json={})

    def session_of(self, name: str, **query: object) -> str:
        """The address of an upload that must begin."""
        answer = self.begin(name, **query)
        assert answer.status_code == 200, answer.text
        return answer.headers["Location"]

    def send(self, address: str, said: str, data: bytes = b"") -> requests.Response:
        """Send a piece of an upload, or ask how far it is."""
        return self.session.put(
            address, data=data, headers={"Content-Range": said}, allow_redirects=False
        )

    def get(self, name: str, **query: object) -> requests.Response:
        """The resource of an object; its content with `alt="media"`."""
        return self.session.get(self._object(name), params=_texts(query))

    def read(self, name: str, said: str | None = None, **query: object) -> requests.Response:
        """The content of an object, or a range of it."""
        headers = {} if said is None else {"Range": said}
        asked = {"alt": "media", **query}
        return self.session.get(self._object(name), params=_texts(asked), headers=headers)

    def page(self, **query: object) -> requests.Response:
        """A page of a listing."""
        return self.session.get(f"{self.base}/o", params=_texts(query))

    def names(self, **query: object) -> list[str]:
        """The names in a page."""
        return [each["name"] for each in self.page(**query).json().get("items", [])]

    def delete(self, name: str, **query: object) -> requests.Response:
        """Delete an object."""
        return self.session.delete(self._object(name), params=_texts(query))

    def rewrite(self, source: str, target: str, **query: object) -> requests.Response:
        """Rewrite an object within the bucket."""
        return self.rewrite_as(source, target, {}, **query)

    def rewrite_as(
        self, source: str, target: str, resource: Mapping[str, object], /, **query: object
    ) -> requests.Response:
        """The same with a resource for the new object."""
        address = f"{self._object(source)}/rewriteTo/b/{self.bucket}/o/{quote(target, safe='')}"
        return self.session.post(address, params=_texts(query), data=json.dumps(dict(resource)))

    def compose(
        self, target: str, sources: Sequence[Mapping[str, object]], **query: object
    ) -> requests.Response:
        """Put several objects together."""
        body = {"sourceObjects": list(sources), "destination": {"contentType": "text/plain"}}
        address = f"{self._object(target)}/compose"
        return self.session.post(address, params=_texts(query), data=json.dumps(body))

    def patch(self, name: str, body: dict[str, object], **query: object) -> requests.Response:
        """Change what the resource of an object says."""
        return self.session.patch(
            self._object(name), params=_texts(query), data=json.dumps(body, default=dict)
        )

    def _object(self, name: str) -> str:
        return f"{self.base}/o/{quote(name, safe='')}"


def _texts(query: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items()}
