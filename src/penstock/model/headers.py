"""Record headers in Spark's form: JSON, with values in base64, and nulls left out."""

import msgspec


class Header(msgspec.Struct, gc=False):
    """One header; the value is None if it is null or left out."""

    key: str | None = None
    value: str | None = None


_HEADERS = msgspec.json.Decoder(list[Header])


def read_headers(text: str) -> list[Header]:
    """All headers of a record, values still in base64; none when it is not their JSON."""
    try:
        return _HEADERS.decode(text)
    except msgspec.DecodeError:
        return []


def first_header(text: str, name: str) -> Header | None:
    """The first header of a name, its value still in base64; None when there is none."""
    return next((header for header in read_headers(text) if header.key == name), None)
