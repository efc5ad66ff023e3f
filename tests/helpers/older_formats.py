"""Entries and checkpoints as older versions wrote them, made from present values."""

import hashlib
import json
from typing import Any

import msgspec

from penstock.model.entries import Entry
from penstock.protocol.feed_book.state import FeedState

# What the fold of the first version did not keep of a partition.
UNKNOWN_TO_FOLD_1 = ("first_offset", "last_window")


def hashed(plain: object) -> bytes:
    """Any JSON object with a good hash in front."""
    rest = b"," + json.dumps(plain, separators=(",", ":")).encode()[1:]
    return b'{"hash":"' + hashlib.sha256(rest).hexdigest().encode() + b'"' + rest


def entry_of_format_1(entry: Entry) -> dict[str, Any]:
    """An entry of the first version: steps are names."""
    plain: dict[str, Any] = json.loads(msgspec.json.encode(entry))
    plain["format"] = 1
    for group in plain["body"].get("groups", ()):
        group["steps"] = [step["step"] for step in group["steps"]]
    return plain


def checkpoint_of_fold_1(state: FeedState) -> bytes:
    """A checkpoint of the first version: no number, and less known of partitions."""
    plain: dict[str, Any] = json.loads(msgspec.json.encode(state))
    for partitions in plain["partitions"].values():
        for known in partitions.values():
            for name in UNKNOWN_TO_FOLD_1:
                del known[name]
    return hashed({"state": plain})
