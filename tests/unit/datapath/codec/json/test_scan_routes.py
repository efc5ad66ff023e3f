"""The look for the route's field: what is found, and where it is looked for next time."""

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.json.scan_routes import guess_routes, routes_of
from penstock.datapath.codec.json.scanner import Payloads


def _guessed(texts: list[str], *payloads: bytes) -> list[int]:
    found = Payloads.of(pa.array(payloads, pa.binary()))
    numbers = np.empty(len(payloads), np.int64)
    guess_routes(found.data, found.starts, found.ends, routes_of("type", texts), numbers)
    return numbers.tolist()


def test_every_text_of_many_is_found() -> None:
    texts = [f"t{number}" for number in range(40_000)]
    payloads = [b'{"type":"t39999","a":1}', b'{"n":"", "type" : "t5"}', b"{}", b'{"type":"t40000"}']
    assert _guessed(texts, *payloads) == [39_999, 5, -1, -1]


def test_the_field_may_be_anywhere_in_the_next_record() -> None:
    payloads = [
        b'{"type":"a"}',
        b'{"x":1,"type":"b"}',
        b'{"long":"text","type":"a"}',
        b'"type":"b"',
    ]
    assert _guessed(["a", "b"], *payloads) == [0, 1, 0, 1]


def test_what_is_not_a_text_is_not_guessed() -> None:
    payloads = [b'{"type":1}', b'{"type":"a', b'{"type"', b'{"type":', b'{"types":"a"}', b"", b'"']
    assert _guessed(["a", "1"], *payloads) == [-1] * 7
