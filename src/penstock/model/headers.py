"""Record headers in Spark's form: JSON, with values in base64, and nulls left out."""

import msgspec


class Header(msgspec.Struct, gc=False):
    """One header; the value is None if it is null or left out."""

    key: str | None = None
    value: str | None = None


_HEADERS = msgspec.json.Decoder(list[Header])


def first_header(text: str, name: str) -> Header | None:
    """The first header with a name, its value in base64; None if there is none."""
    try:
        headers = _HEADERS.decode(text)
    except msgspec.DecodeError:
        return None
    return next((header for header in headers if header.key == name), None)
