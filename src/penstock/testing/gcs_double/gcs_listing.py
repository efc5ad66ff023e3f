"""Listings of a bucket: in the order of the bytes of names, in pages."""

import base64
from collections.abc import Iterator, Mapping

from penstock.testing.gcs_double.gcs_answers import GcsRefusal, Json
from penstock.testing.gcs_double.gcs_bucket import GcsBucket
from penstock.testing.gcs_double.gcs_versions import Version

PAGE = 1000


def page_of(bucket: GcsBucket, query: Mapping[str, str], base: str) -> Json:
    """The answer to a request to list objects."""
    most = min(int(query.get("maxResults", PAGE)), PAGE)
    after = _after(query)
    items: list[object] = []
    prefixes: list[str] = []
    last: str | None = None
    for name, version in _wanted(bucket, query):
        folder = _folder(name, query)
        place = folder or name
        if after is not None and place.encode() <= after.encode():
            continue
        if len(items) + len(prefixes) >= most and place != last:
            answer: Json = {
                "nextPageToken": base64.urlsafe_b64encode((last or "").encode()).decode()
            }
            break
        if folder is None:
            items.append(version.resource(base))
        elif folder not in prefixes:
            prefixes.append(folder)
        last = place
    else:
        answer = {}
    answer["kind"] = "storage#objects"
    if items:
        answer["items"] = items
    if prefixes:
        answer["prefixes"] = prefixes
    return answer


def _after(query: Mapping[str, str]) -> str | None:
    """The name after which a page begins, from the token of the page before."""
    word = query.get("pageToken")
    if not word:
        return None
    try:
        return base64.urlsafe_b64decode(word).decode()
    except ValueError as error:
        raise GcsRefusal(400, "invalid", "Invalid page token") from error


def _folder(name: str, query: Mapping[str, str]) -> str | None:
    """What a name is shown as where the listing stops at a delimiter."""
    delimiter = query.get("delimiter")
    begin = len(query.get("prefix", ""))
    if not delimiter or delimiter not in name[begin:]:
        return None
    return name[: name.index(delimiter, begin) + len(delimiter)]


def _wanted(bucket: GcsBucket, query: Mapping[str, str]) -> Iterator[tuple[str, Version]]:
    if query.get("softDeleted") == "true":
        found = [each for each, is_soft in list(bucket.former) if is_soft]
    else:
        found = list(bucket.live.values())
        if query.get("versions") == "true":
            found += [each for each, is_soft in list(bucket.former) if not is_soft]
    prefix, start, end = (query.get(key, "") for key in ("prefix", "startOffset", "endOffset"))
    for version in sorted(found, key=lambda each: (each.name.encode(), each.generation)):
        name = version.name
        if not name.startswith(prefix) or name.encode() < start.encode():
            continue
        if end and name.encode() >= end.encode():
            return
        yield name, version
