"""The table of rooms: the folders of src/penstock, and which of them may import which.

To add a room, add its line to `ROOMS` on purpose.
"""

# The bottom layer. Its two members may import each other and every room may import both.
BOTTOM = frozenset({"model", "errors"})
_SEAMS = BOTTOM | {"api", "runtime"}
_JOURNALS = frozenset({"protocol/journal", "protocol/feed_book"})
PROTOCOL = _JOURNALS | {"protocol/publish", "protocol/loop"}
_SHAPE = frozenset(
    f"datapath/shape/{name}" for name in ("event_time", "plugins", "route", "convert")
)
_FORMATS_OF_RECORDS = frozenset(
    f"datapath/codec/{name}"
    for name in ("json", "avro", "protobuf", "thrift", "msgpack", "text", "raw")
)
_CODECS = _FORMATS_OF_RECORDS | {"datapath/codec", "datapath/codec/shared"}
_ON_EXECUTORS = _SHAPE | _CODECS | {"datapath/formats", "datapath/stage"}
DATAPATH = _ON_EXECUTORS | {"datapath/schemas", "datapath/rewrite"}
_PORTS = frozenset({"ports/store", "ports/source", "ports/source/kafka", "ports/registry"})

# Who runs feeds and cares for lakes knows sources and parallel work by their protocols only.
_TO_FEEDS = (
    _SEAMS | PROTOCOL | DATAPATH | {"datapath/driver", "ports/store", "ports/registry", "evidence"}
)
_ALL_BUT_CLI = (
    _TO_FEEDS | _PORTS | {"spark", "feeds", "care", "audit", "status", "charts", "config", "serve"}
)

# Room -> the rooms it may import, besides itself and the bottom layer. A module belongs to the
# room with the longest matching path.
ROOMS: dict[str, frozenset[str]] = {
    "model": BOTTOM,
    "model/converter": BOTTOM | {"api"},  # the former place of what plug-ins import
    "errors": BOTTOM,
    "api": BOTTOM,
    "runtime": BOTTOM,
    "evidence": BOTTOM,
    "config": BOTTOM | {"api"},
    "charts": BOTTOM,
    "ports": BOTTOM,
    "ports/store": _SEAMS,
    "ports/store/local": _SEAMS | {"ports/store"},
    "ports/store/bucket": _SEAMS | {"ports/store"},
    # `config` reads sizes and durations
    "ports/store/s3": _SEAMS | {"ports/store", "ports/store/bucket", "config"},
    "ports/store/hdfs": _SEAMS | {"ports/store", "config"},
    "ports/store/gcs": _SEAMS | {"ports/store", "ports/store/bucket", "config"},
    "ports/registry": _SEAMS,
    "ports/source": _SEAMS | {"evidence"},
    "ports/source/kafka": _SEAMS | {"ports/source", "evidence", "spark"},
    "protocol": BOTTOM,
    "protocol/journal": _SEAMS | {"ports/store"},
    "protocol/feed_book": _SEAMS | {"ports/store", "protocol/journal", "evidence"},
    "protocol/publish": _SEAMS | _JOURNALS | {"ports/store"},
    "protocol/loop": _SEAMS | PROTOCOL | {"ports/store", "evidence"},
    "datapath": BOTTOM,
    "datapath/codec": BOTTOM | {"api", "datapath/codec/shared"} | _FORMATS_OF_RECORDS,
    "datapath/codec/shared": BOTTOM | {"api", "config"},  # `config` says where the cache is
    "datapath/codec/json": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/avro": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/protobuf": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/thrift": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/msgpack": BOTTOM | {"api", "datapath/codec/shared", "datapath/codec/json"},
    "datapath/codec/text": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/raw": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/formats": BOTTOM | {"api"},
    # The loops that write and read single records are the codec's.
    "datapath/formats/avro": BOTTOM
    | {"api", "datapath/formats", "datapath/codec/avro", "datapath/codec/shared"},
    "datapath/formats/jsonl": BOTTOM
    | {"api", "datapath/formats", "datapath/codec/json", "datapath/codec/shared"},
    # Records as they came: nothing is known of what is in them.
    "datapath/formats/text": BOTTOM | {"api", "datapath/formats"},
    "datapath/formats/sequencefile": BOTTOM | {"api", "datapath/formats"},
    "datapath/shape": BOTTOM,
    "datapath/shape/event_time": BOTTOM,
    "datapath/shape/plugins": BOTTOM | {"api"},
    "datapath/shape/route": BOTTOM | {"api", "datapath/shape/event_time", "datapath/shape/plugins"},
    "datapath/shape/convert": BOTTOM
    | {"api", "datapath/shape/event_time", "datapath/shape/plugins"},
    "datapath/stage": _SEAMS | _ON_EXECUTORS | {"ports/store", "evidence"},
    "datapath/rewrite": _SEAMS | {"datapath/formats", "datapath/stage", "ports/store", "evidence"},
    "datapath/schemas": _SEAMS | DATAPATH | {"ports/store", "ports/registry"},
    "datapath/driver": _SEAMS | DATAPATH | {"ports/store", "ports/registry"},
    "spark": _SEAMS | {"config"},
    "feeds": _TO_FEEDS,
    "care": _TO_FEEDS,
    "audit": _SEAMS | _JOURNALS | {"ports/store", "ports/source", "evidence", "datapath/formats"},
    "status": _SEAMS | _JOURNALS | {"ports/store", "audit"},
    "serve": _SEAMS | _JOURNALS | {"ports/store", "audit", "status"},
    "testing": _ALL_BUT_CLI | {"ports/store/local"},
    "testing/contracts": _ALL_BUT_CLI | {"testing"},
    "demo": _ALL_BUT_CLI | {"testing"},
    "cli": _ALL_BUT_CLI | {"testing", "demo", "cli/commands"},
    "cli/commands": _ALL_BUT_CLI | {"testing", "demo", "cli"},
    "__init__": BOTTOM,
    "__main__": frozenset({"cli"}),
}


def room_of(path: str) -> str | None:
    """The room of a module or package, such as `protocol/feed_book/fold`; the longest match."""
    parts = path.removesuffix(".py").split("/")
    names = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((name for name in names if name in ROOMS), None)
