"""Lines of text as a codec: cut by a pattern or by a delimiter."""

from collections.abc import Iterator

from penstock.api.codec import Codec, Complaint, RecordSchemas
from penstock.api.later import Later
from penstock.model.spec import DecodeSpec


def _check(decode: DecodeSpec) -> Iterator[Complaint]:
    ways = [bool(decode.pattern), bool(decode.delimiter)]
    if sum(ways) != 1:
        yield f"{'both' if all(ways) else 'neither'} `pattern` and `delimiter`", "one of the two"
    if bool(decode.delimiter) != bool(decode.columns):
        yield "`delimiter` or `columns` alone", "both, or a `pattern` with named groups"


CODEC = Codec(
    "text",
    schemas=RecordSchemas(
        Later("penstock.datapath.codec.text.text_reader:line_reader"),
        fixed=Later("penstock.datapath.codec.text.text_reader:fixed_layout"),
        has_names=False,
    ),
    options=frozenset({"pattern", "delimiter", "columns"}),
    check=_check,
)
