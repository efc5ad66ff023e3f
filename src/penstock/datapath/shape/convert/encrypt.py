"""Encrypting the values of a field, so that a retry writes the same bytes.

A value becomes `nonce (12 bytes) || ciphertext || tag (16 bytes)` of AES-256-GCM. A nonce must
never serve for two texts, and a random one would give every attempt of a task another file. So it
is made of what no other value shares: where the record lies in Kafka, which field it is, and the
text itself, through a keyed hash.
"""

import hashlib
import hmac
from importlib import import_module
from itertools import compress

import pyarrow as pa

from penstock.datapath.shape.convert.conditions import as_texts
from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow, Given, Made, Origin
from penstock.model.convert_spec import ConvertSpec
from penstock.model.schema import BINARY, Field

Positions = list[tuple[int, int]]  # the offset of each row, and its number

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
# By its name and not at the top: only a task that encrypts has to wait for the library.
_CIPHER = "penstock.datapath.shape.convert.cipher"


def encrypt(flow: Flow, spec: ConvertSpec, given: Given) -> Flow:
    """Encrypt fields; null stays null."""
    for path, reference in zip(spec.paths, spec.words, strict=True):
        places = given.origin.positions(flow.rows)
        key = given.keys.reveal("encrypt", reference)

        def change(
            each: Field, column: pa.Array, p: str = path, k: bytes = key, o: Positions = places
        ) -> Made:
            texts = _bytes_of(each, column)
            return [(each.name, BINARY, each.nullable, _encrypted(texts, k, given.origin, p, o))]

        flow = flow.changed("encrypt", path, change)
    return flow


def _bytes_of(each: Field, column: pa.Array) -> pa.Array:
    if each.type.kind == "binary":
        return column
    texts = as_texts(column)
    if texts is None:
        raise ConvertImpossible("encrypt", each.name, f"it is a {each.type.kind}")
    return texts.cast(pa.binary())


def _encrypted(
    texts: pa.Array, key: bytes, origin: Origin, path: str, places: Positions
) -> pa.Array:
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), pa.binary())
    is_there = texts.is_valid().to_pylist()
    plain = texts.drop_null().to_pylist()
    secret = hmac.new(key, b"penstock nonce", hashlib.sha256).digest()
    begin = _parts(origin.dataset.encode(), path.encode(), origin.topic_id.encode())
    nonces = [
        _nonce(secret, begin + b"%d|%d|%d|" % (origin.partition, *place), text)
        for place, text in zip(compress(places, is_there), plain, strict=True)
    ]
    sealed = iter(import_module(_CIPHER).sealed(key, nonces, plain))
    return pa.array([next(sealed) if there else None for there in is_there], pa.binary())


def _parts(*parts: bytes) -> bytes:
    """Parts in a row, each with its length, so that no two rows of parts are the same bytes."""
    return b"".join(b"%d:%b|" % (len(part), part) for part in parts)


def _nonce(secret: bytes, place: bytes, text: bytes) -> bytes:
    return hmac.new(secret, place + text, hashlib.sha256).digest()[:NONCE_BYTES]
