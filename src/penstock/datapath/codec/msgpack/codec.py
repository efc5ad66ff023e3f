"""MessagePack as a codec: records without a schema, which are read as JSON."""

from penstock.api.codec import Codec, JsonRecords
from penstock.api.later import Later

_GROWTH = 6  # no byte becomes more than six, as false does with its comma

CODEC = Codec(
    "msgpack",
    json=JsonRecords(Later("penstock.datapath.codec.msgpack.msgpack_json:as_json"), growth=_GROWTH),
)
