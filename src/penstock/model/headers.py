"""Record headers as Spark spells them: JSON, with values in base64, and nulls left out."""

import msgspec


class Header(msgspec.Struct, gc=False):
    """One header; a value that is null is None, and so is one that is left out."""

    key: str | None = None
    value: str | None = None


_HEADERS = msgspec.json.Decoder(list[Header])


def first_header(text: str, name: str) -> Header | None:
    """The first header of a name, its value still in base64; None when there is none."""
    try:
        headers = _HEADERS.decode(text)
    except msgspec.DecodeError:
        return None
    return next((header for header in headers if header.key == name), None)
