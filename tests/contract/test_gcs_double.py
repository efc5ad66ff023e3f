"""The double of GCS does what the documentation says of the JSON API, statement by statement.

Each docstring quotes the page that it is about, below docs.cloud.google.com/storage/docs.
"""

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from penstock.testing.gcs_double.gcs_answers import CONDITION_NOT_MET
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from tests.helpers.gcs_asking import GcsAsking

pytestmark = pytest.mark.xdist_group("gcs")

UNIT = 256 * 1024


@pytest.fixture
def ask(gcs: EmbeddedGcs) -> GcsAsking:
    bucket = f"b{secrets.token_hex(8)}"
    gcs.make_bucket(bucket)
    return GcsAsking(gcs.endpoint, bucket)


def test_generation_zero_means_that_nothing_may_be_there(ask: GcsAsking) -> None:
    """json_api/v1/objects/insert: "Setting to 0 makes the operation succeed only if there are no
    live versions of the object." request-preconditions: "the request fails with a 412 Precondition
    Failed response"."""
    assert ask.insert("a", b"one", ifGenerationMatch=0).status_code == 200
    refused = ask.insert("a", b"two", ifGenerationMatch=0)
    assert refused.status_code == 412
    [detail] = refused.json()["error"]["errors"]
    assert detail["reason"] == "conditionNotMet"
    assert refused.json()["error"]["message"] == CONDITION_NOT_MET
    assert ask.read("a").content == b"one"
    ask.delete("a")
    assert ask.insert("a", b"two", ifGenerationMatch=0).status_code == 200


def test_a_generation_is_replaced_only_while_it_is_the_live_one(ask: GcsAsking) -> None:
    """request-preconditions, ifGenerationMatch: "Request proceeds if the generation of the target
    resource matches the value used in the precondition."."""
    first = ask.made("a")
    second = ask.made("a", b"two", ifGenerationMatch=first)
    assert second > first
    assert ask.insert("a", b"three", ifGenerationMatch=first).status_code == 412
    assert ask.insert("b", b"three", ifGenerationMatch=first).status_code == 412


def test_a_difference_that_is_asked_for_and_missing_is_not_modified(ask: GcsAsking) -> None:
    """request-preconditions, ifGenerationNotMatch: "If the values match, the request fails with a
    304 Not Modified response"; objects/get: "If no live object exists, the precondition fails.
    Setting to 0 makes the operation succeed only if there is a live version"."""
    found = ask.made("a")
    assert ask.get("a", ifGenerationNotMatch=found).status_code == 304
    assert ask.get("a", ifGenerationNotMatch=found + 1).status_code == 200
    assert ask.insert("b", b"", ifGenerationNotMatch=0).status_code == 304
    assert ask.insert("a", b"", ifGenerationNotMatch=0).status_code == 200


def test_metadata_has_a_number_of_its_own(ask: GcsAsking) -> None:
    """metadata#generation-number: the metageneration "begins at 1 and increases each time the
    object's metadata is updated"; the generation stays."""
    found = ask.made("a")
    changed = ask.patch("a", {"metadata": {"k": "v"}}, ifMetagenerationMatch=1).json()
    assert (changed["generation"], changed["metageneration"]) == (str(found), "2")
    assert changed["metadata"] == {"k": "v"}
    assert ask.patch("a", {"metadata": {}}, ifMetagenerationMatch=1).status_code == 412
    assert ask.patch("a", {"metadata": {"k": None}}).json().get("metadata") is None


def test_a_deletion_takes_only_the_generation_that_is_named(ask: GcsAsking) -> None:
    """json_api/v1/objects/delete: "Makes the operation conditional on whether the object's current
    generation matches the given value." Of what is not there: 404 notFound."""
    first = ask.made("a")
    second = ask.made("a", b"two")
    assert ask.delete("a", ifGenerationMatch=first).status_code == 412
    assert ask.delete("a", ifGenerationMatch=second).status_code == 204
    gone = ask.delete("a", ifGenerationMatch=second)
    assert (gone.status_code, gone.json()["error"]["errors"][0]["reason"]) == (404, "notFound")


def test_a_rewrite_obeys_conditions_on_both_objects(ask: GcsAsking) -> None:
    """json_api/v1/objects/rewrite: ifGenerationMatch is about "the destination object's current
    generation", ifSourceGenerationMatch about "the source object's current generation"."""
    source = ask.made("a", b"rows")
    other = ask.made("b", b"other")
    assert ask.rewrite("a", "b", ifGenerationMatch=0).status_code == 412
    assert ask.rewrite("a", "c", ifSourceGenerationMatch=other).status_code == 412
    conditions = {"ifGenerationMatch": 0, "ifSourceGenerationMatch": source}
    done = ask.rewrite("a", "c", **conditions).json()
    assert (done["done"], done["resource"]["name"]) == (True, "c")
    assert ask.rewrite("a", "c", **conditions).status_code == 412
    ask.delete("a")
    assert ask.rewrite("a", "d", **conditions).status_code == 404
    assert ask.read("b").content == b"other"


def test_a_rewrite_takes_metadata_along_unless_it_brings_its_own(ask: GcsAsking) -> None:
    """json_api/v1/objects/rewrite: "Optionally overrides metadata"."""
    ask.made("a")
    ask.patch("a", {"metadata": {"k": "v"}})
    assert ask.rewrite("a", "b").json()["resource"]["metadata"] == {"k": "v"}
    mine = ask.rewrite_as("a", "c", {"metadata": {"mine": "1"}}).json()["resource"]
    assert mine["metadata"] == {"mine": "1"}


def test_a_large_rewrite_goes_on_with_its_token(gcs: EmbeddedGcs, ask: GcsAsking) -> None:
    """json_api/v1/objects/rewrite: "you must keep calling the endpoint using the rewriteToken
    returned in the prior response until the done flag is true". Here each call obeys conditions."""
    source = ask.made("a", b"0123456789")
    conditions = {"ifGenerationMatch": 0, "ifSourceGenerationMatch": source}
    gcs.set_moods(rewrite_bytes=4)
    try:
        answers = [ask.rewrite("a", "b", **conditions).json()]
        assert ask.get("b").status_code == 404, "nothing is there before the last call"
        while not answers[-1]["done"]:
            word = answers[-1]["rewriteToken"]
            answers.append(ask.rewrite("a", "b", rewriteToken=word, **conditions).json())
        assert [each["totalBytesRewritten"] for each in answers] == ["4", "8", "10"]
        assert ask.read("b").content == b"0123456789"
        word = ask.rewrite("a", "c", **conditions).json()["rewriteToken"]
        ask.delete("a")
        assert ask.rewrite("a", "c", rewriteToken=word, **conditions).status_code == 404
    finally:
        gcs.set_moods(rewrite_bytes=None)


def test_a_composition_obeys_conditions_and_has_no_md5(ask: GcsAsking) -> None:
    """composite-objects: "Composite objects don't have an MD5 hash metadata field"; compose:
    objectPreconditions.ifGenerationMatch "Only perform the composition if the generation of the
    source object that would be used matches this value"."""
    first, second = ask.made("a", b"one "), ask.made("b", b"two")
    wrong: dict[str, object] = {
        "name": "b",
        "objectPreconditions": {"ifGenerationMatch": str(first)},
    }
    assert ask.compose("c", [{"name": "a"}, wrong]).status_code == 412
    right = wrong | {"objectPreconditions": {"ifGenerationMatch": str(second)}}
    made = ask.compose("c", [{"name": "a"}, right], ifGenerationMatch=0).json()
    assert (made["componentCount"], "md5Hash" in made, "crc32c" in made) == (2, False, True)
    assert ask.compose("c", [{"name": "a"}], ifGenerationMatch=0).status_code == 412
    assert ask.compose("d", [{"name": "a"}] * 33).status_code == 400
    assert ask.read("c").content == b"one two"


@pytest.mark.parametrize("how", ["insert", "finish", "rewrite"])
def test_of_many_that_create_at_once_one_wins(ask: GcsAsking, how: str) -> None:
    """consistency: Cloud Storage "provides strong global consistency"; request-preconditions: they
    "prevent race conditions". So one lock per name."""
    racers = 16
    barrier = Barrier(racers)
    sources = {n: ask.made(f"s{n}", b"%02d" % n) for n in range(racers)}

    def race(number: int) -> int:
        mine = GcsAsking(ask.endpoint, ask.bucket)
        data = b"%02d" % number
        address = ask.session_of("raced", ifGenerationMatch=0) if how == "finish" else ""
        barrier.wait()
        if how == "insert":
            return mine.insert("raced", data, ifGenerationMatch=0).status_code
        if how == "finish":
            return mine.send(address, "bytes 0-1/2", data).status_code
        conditions = {"ifGenerationMatch": 0, "ifSourceGenerationMatch": sources[number]}
        return mine.rewrite(f"s{number}", "raced", **conditions).status_code

    with ThreadPoolExecutor(racers) as threads:
        told = list(threads.map(race, range(racers)))
    assert sorted(told) == [200] + [412] * (racers - 1)
    assert ask.read("raced").content == b"%02d" % told.index(200)


def test_an_upload_in_pieces_says_how_much_it_has(ask: GcsAsking) -> None:
    """performing-resumable-uploads: a piece is answered with "308 Resume Incomplete" and a Range
    header; one without means that nothing has been persisted; the last one with 200 or 201; the
    status of a finished upload is asked with the same answer."""
    data = bytes(UNIT * 2 + 5)
    address = ask.session_of("a", ifGenerationMatch=0)
    began = ask.send(address, f"bytes */{len(data)}")
    assert (began.status_code, "Range" in began.headers) == (308, False)
    first = ask.send(address, f"bytes 0-{UNIT - 1}/{len(data)}", data[:UNIT])
    assert (first.status_code, first.headers["Range"]) == (308, f"bytes=0-{UNIT - 1}")
    asked = ask.send(address, f"bytes */{len(data)}")
    assert (asked.status_code, asked.headers["Range"]) == (308, f"bytes=0-{UNIT - 1}")
    assert ask.get("a").status_code == 404
    last = ask.send(address, f"bytes {UNIT}-{len(data) - 1}/{len(data)}", data[UNIT:])
    assert (last.status_code, last.json()["size"]) == (200, str(len(data)))
    again = ask.send(address, f"bytes */{len(data)}")
    assert again.json()["generation"] == last.json()["generation"]


def test_pieces_are_kept_in_whole_units(ask: GcsAsking) -> None:
    """performing-resumable-uploads: "The chunk size should be a multiple of 256 KiB, unless it's
    the last chunk"; "don't assume that the server received all bytes sent in any given request"."""
    address = ask.session_of("a")
    answer = ask.send(address, f"bytes 0-{UNIT + 9}/{UNIT * 3}", bytes(UNIT + 10))
    assert answer.headers["Range"] == f"bytes=0-{UNIT - 1}"
    small = ask.session_of("b")
    assert "Range" not in ask.send(small, f"bytes 0-9/{UNIT}", bytes(10)).headers


def test_the_conditions_of_an_upload_hold_when_it_ends(ask: GcsAsking) -> None:
    """request-preconditions, with resumable uploads: the precondition of the request that begins
    one is about the object that it makes; of two that are open the second is refused."""
    first, second = (ask.session_of("a", ifGenerationMatch=0) for _ in range(2))
    assert ask.send(first, "bytes 0-2/3", b"one").status_code == 200
    assert ask.send(second, "bytes 0-2/3", b"two").status_code == 412
    assert ask.read("a").content == b"one"


def test_an_upload_that_was_cancelled_is_over(ask: GcsAsking) -> None:
    """performing-resumable-uploads#cancel-upload: "If successful, the response contains a 499
    status code"; unknown sessions are 404."""
    address = ask.session_of("a")
    assert ask.session.delete(address).status_code == 499
    assert ask.send(address, "bytes 0-2/3", b"one").status_code == 499
    assert ask.send(f"{address}x", "bytes 0-2/3", b"one").status_code == 404
    assert ask.get("a").status_code == 404


def test_what_does_not_match_its_checksum_is_not_taken(ask: GcsAsking) -> None:
    """data-validation#server-side: "If the hash you provide does not match the value calculated by
    Cloud Storage, the request fails"."""
    address = f"{ask.endpoint}/upload/storage/v1/b/{ask.bucket}/o?uploadType=multipart"
    resource = json.dumps({"name": "a", "crc32c": "AAAAAA=="}).encode()
    body = b"--x\r\n\r\n" + resource + b"\r\n--x\r\ncontent-type: a/b\r\n\r\nrows\r\n--x--"
    kind = {"Content-Type": "multipart/related; boundary=x"}
    answer = ask.session.post(address, data=body, headers=kind)
    assert answer.status_code == 400
    assert ask.get("a").status_code == 404
    right = body.replace(b"AAAAAA==", ask.insert("b", b"rows").json()["crc32c"].encode())
    made = ask.session.post(address, data=right, headers=kind).json()
    assert (made["size"], made["contentType"]) == ("4", "a/b")


def test_a_range_is_read_with_its_generation(ask: GcsAsking) -> None:
    """json_api/v1/objects/get: with alt=media the content; the Range header as in RFC 9110; 416
    where it cannot be satisfied."""
    made = ask.made("a", b"0123456789")
    part = ask.read("a", "bytes=2-4", generation=made)
    assert (part.status_code, part.content) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    assert part.headers["X-Goog-Generation"] == str(made)
    assert ask.read("a", "bytes=8-99").content == b"89"
    assert ask.read("a", "bytes=-3").content == b"789"
    assert ask.read("a", "bytes=10-11").status_code == 416
    assert ask.read("a", ifGenerationMatch=made + 1).status_code == 412
    assert ask.read("a", generation=made + 1).status_code == 404


def test_a_listing_is_in_order_and_in_pages(ask: GcsAsking) -> None:
    """json_api/v1/objects/list: startOffset "Filter results to objects whose names are
    lexicographically equal to or after", endOffset "before"; names are ordered by their UTF-8
    bytes; `fields` asks for a part of the answer."""
    names = ["a-b/x", "a/b", "a/c", "a0", "é", "\U0001f600"]
    for name in reversed(names):
        ask.made(name, b"")
    assert ask.names() == names
    assert ask.names(prefix="a/") == ["a/b", "a/c"]
    assert ask.names(startOffset="a/c", endOffset="é") == ["a/c", "a0"]
    first = ask.page(maxResults=4).json()
    rest = ask.names(maxResults=4, pageToken=first["nextPageToken"])
    assert [each["name"] for each in first["items"]] + rest == names
    folders = ask.page(delimiter="/").json()
    assert folders["prefixes"] == ["a-b/", "a/"]
    assert [each["name"] for each in folders["items"]] == ["a0", "é", "\U0001f600"]
    assert ask.page(fields="items(name),nextPageToken", maxResults=1).json()["items"] == [
        {"name": "a-b/x"}
    ]
    assert ask.page(prefix="nowhere").json() == {"kind": "storage#objects"}


def test_former_versions_are_listed_only_where_asked_for(gcs: EmbeddedGcs) -> None:
    """object-versioning: the replaced version "becomes noncurrent"; "You can list noncurrent
    versions" with versions=true; objects/delete: "Deletions are permanent if versioning is not
    enabled for the bucket, or if the generation parameter is used"."""
    bucket = f"b{secrets.token_hex(8)}"
    gcs.make_bucket(bucket, versioning={"enabled": True})
    ask = GcsAsking(gcs.endpoint, bucket)
    first = ask.made("a", b"one")
    second = ask.made("a", b"two")
    ask.delete("a")
    assert ask.names() == []
    assert ask.names(versions="true") == ["a", "a"]
    assert ask.read("a").status_code == 404
    assert ask.read("a", generation=first).content == b"one"
    assert ask.rewrite("a", "b", ifSourceGenerationMatch=second).status_code == 404
    assert ask.delete("a", generation=first).status_code == 204
    assert ask.names(versions="true") == ["a"]


def test_what_was_deleted_softly_is_neither_read_nor_deleted_again(gcs: EmbeddedGcs) -> None:
    """json_api/v1/objects/delete: "Attempting to delete soft-deleted objects using this API results
    in a 404 Not Found error with the reason notFound"."""
    bucket = f"b{secrets.token_hex(8)}"
    gcs.make_bucket(bucket, softDeletePolicy={"retentionDurationSeconds": "604800"})
    ask = GcsAsking(gcs.endpoint, bucket)
    made = ask.made("a")
    ask.delete("a")
    assert ask.delete("a", generation=made).status_code == 404
    assert ask.get("a").status_code == ask.read("a", generation=made).status_code == 404
    assert ask.names() == ask.names(versions="true") == []
    assert ask.names(softDeleted="true") == ["a"]
    assert ask.insert("a", b"", ifGenerationMatch=0).status_code == 200


def test_a_retention_policy_keeps_objects(gcs: EmbeddedGcs) -> None:
    """bucket-lock: "Attempts to delete or replace objects whose age is less than the retention
    period fail with a 403 - retentionPolicyNotMet error"."""
    bucket = f"b{secrets.token_hex(8)}"
    gcs.make_bucket(bucket, retentionPolicy={"retentionPeriod": "1000"})
    ask = GcsAsking(gcs.endpoint, bucket)
    ask.made("a")
    refused = ask.delete("a")
    assert refused.status_code == 403
    assert refused.json()["error"]["errors"][0]["reason"] == "retentionPolicyNotMet"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a\rb", "a\nb", ".well-known/acme-challenge/a", "n" * 1025, "é" * 513]
)
def test_names_that_are_not_taken(ask: GcsAsking, name: str) -> None:
    """objects#naming: names "can contain any sequence of valid Unicode characters, of length 1-1024
    bytes when UTF-8 encoded", no Carriage Return or Line Feed, not "." or "..", "cannot start with
    .well-known/acme-challenge/"."""
    assert ask.insert(name, b"").status_code == 400


def test_names_that_are_taken(ask: GcsAsking) -> None:
    """The same: control characters are advised against, not refused."""
    for name in ("a/../b", "\x01", "a//b", "/", ".well-known/other", "n" * 1024, "%2F"):
        assert ask.made(name)
        assert ask.get(name).json()["name"] == name


def test_one_name_is_not_changed_too_often(gcs: EmbeddedGcs, ask: GcsAsking) -> None:
    """objects#immutability: "there is a limit on how frequently you can mutate an object: once per
    second"; too soon is 429."""
    ask.made("a")
    gcs.set_moods(update_interval_s=60.0)
    try:
        refused = ask.insert("a", b"")
        assert refused.status_code == 429
        assert refused.json()["error"]["errors"][0]["reason"] == "rateLimitExceeded"
        assert ask.insert("b", b"").status_code == 200
    finally:
        gcs.set_moods(update_interval_s=0.0)


def test_a_bucket_that_is_not_there_is_told_from_an_object(gcs: EmbeddedGcs) -> None:
    """troubleshooting: "The specified bucket does not exist." with 404."""
    ask = GcsAsking(gcs.endpoint, "nobody")
    assert ask.get("a").json()["error"]["message"] == "The specified bucket does not exist."
    assert ask.insert("a", b"").status_code == 404
