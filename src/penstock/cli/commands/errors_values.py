"""How values of broken records are printed."""

import base64

SAMPLE_CHARACTERS = 60


def base64_of(data: bytes | None) -> str | None:
    """Bytes in base64, for JSON."""
    return None if data is None else base64.b64encode(data).decode("ascii")
